"""The live handle of a plan: the cluster that it can be applied to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from ..frames.display import Display
    from .apply_options import ApplyOptions
    from .outcomes import Outcomes
    from .plan import Plan


@dataclass(frozen=True)
class LiveCluster:
    """The cluster of a plan: what applies it there, reads the quotas, shows it for review, and goes on from there.

    `target` is the word by which another session reaches it; `is_begun` is true of a plan that has a journal here.
    """

    apply: Callable[..., Outcomes]
    quotas: Callable[[], pa.Table] | None = None
    review: Callable[[Plan, ApplyOptions], Display] | None = None
    verify: Callable[[Plan], Outcomes] | None = None
    rollback: Callable[[Plan], Plan] | None = None
    plan_again: Callable[[Plan, str | None], Plan] | None = None
    is_begun: Callable[[Plan], bool] = lambda plan: False
    target: str = ""
