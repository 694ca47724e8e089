"""The live handle of a plan: the cluster that it can be applied to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from ..frames.display import Display
    from .outcomes import Outcomes
    from .plan import Plan


@dataclass(frozen=True)
class LiveCluster:
    """The cluster of a plan: what applies it there, reads the quotas, shows it for review."""

    apply: Callable[..., Outcomes]
    quotas: Callable[[], pa.Table] | None = None
    review: Callable[[Plan], Display] | None = None
