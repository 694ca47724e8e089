"""Charts in a report: a picture where Altair is installed, a line where it is not."""

from __future__ import annotations

from typing import Any

from .. import charts
from ..errors import Unsupported
from .report_checks import Check


def chart(name: str, *frames: Any) -> Any:
    """The chart of `kn.charts` of that name; None, and a printed line, where its packages are not installed.

    A check that did not look, or None, has no chart either: a report does not fail for a picture.

    Examples
    --------
    >>> kn.runbooks.chart("hierarchy", cluster.quotas.describe())  # doctest: +SKIP
    """
    if frames[0] is None or isinstance(frames[0], Check):
        return None
    try:
        return getattr(charts, name)(*frames)
    except Unsupported as missing:
        print(f"no chart: {'. '.join(missing.lines())}")
        return None
