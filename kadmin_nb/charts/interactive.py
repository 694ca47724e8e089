"""A chart with tooltips, drawn in the browser: offline, with all its JavaScript in the notebook's message (0.9 MB)."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

from ..errors import Unsupported
from .svg import look_of


def interactive(chart: Any) -> Any:
    """The chart as a widget with tooltips; it loads nothing from elsewhere, and needs a kernel.

    Parameters
    ----------
    chart
        A chart of `kn.charts`, or any of Altair's.

    Returns
    -------
    altair.JupyterChart
        The widget. It needs a kernel: in a saved notebook, show the chart itself.

    Raises
    ------
    Unsupported
        Altair or anywidget is not installed.

    Examples
    --------
    >>> kn.charts.interactive(kn.charts.effective(answer))  # doctest: +SKIP
    """
    look = {"config": {**look_of(chart.to_dict()), "background": "transparent"}, "renderer": "svg"}
    return _offline_chart()(chart, embed_options={"actions": False, **look})


@cache
def _offline_chart() -> Any:
    """Altair's widget, offline; its own stays as it is for other charts."""
    from .drawing import alt

    if find_spec("anywidget") is None:
        raise Unsupported("anywidget is not installed", hint="pip install 'kadmin_nb[widgets]'")

    class OfflineChart(alt.JupyterChart):  # type: ignore[misc]
        """A JupyterChart that has all it needs."""

    OfflineChart.enable_offline(True)
    return OfflineChart
