"""The review of a plan: its rows, what is dangerous in it, and its way to the brokers, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..errors import KadminError, PartlyFailed, printable
from ..frames.blocks import Title
from ..frames.pages import NOTEBOOK, Page
from ..plans.execution.progress import Advance
from .panel import Panel
from .plan_sheet import PlanSheet

if TYPE_CHECKING:
    from ..frames.blocks import Block
    from ..plans.outcomes import Outcomes
    from ..plans.plan import Plan


class PlanReview(Panel):
    """A plan before it is applied, while it is, and afterwards."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.sheet = PlanSheet(plan.changes)
        self.outcomes: Outcomes | None = None
        self._stop = threading.Event()

    def title(self) -> str:
        return self.plan.title()

    def table(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return self.plan.table(page)

    def footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return self.plan.footer(page)

    def build(self) -> Any:
        from . import controls
        from .grid import Grid

        self._controls = controls
        self._apply = controls.button("Apply", self._start, style="warning")
        self._stopper = controls.button("Stop", self._stop.set, hint="after the request that is under way")
        self._stopper.disabled = True
        self._allow = controls.text("the dangerous keys, typed again", width="20em")
        self._status = controls.paragraphs()
        self._apply.disabled = bool(self.plan.refused)
        height = min(360, 30 * (len(self.plan) + 2))
        return controls.column(
            controls.paragraphs(Title(self.title()), *self.footer()),
            Grid(self.sheet, height=height, static_id=self.static_id),
            controls.row(*([self._allow] if len(self.plan.dangers()) else []), self._apply, self._stopper),
            self._status,
        )

    def _start(self) -> None:
        self._apply.disabled, self._stopper.disabled = True, False
        self._stop.clear()
        threading.Thread(target=self._run, name="kadmin-nb apply", daemon=True).start()

    def _run(self) -> None:
        """Apply the plan; whatever comes of it is shown, and what could not begin can be tried again."""
        try:
            allowed = self._allow.value.replace(",", " ").split()
            self._finished(self.plan.apply(allow=allowed, progress=self._advanced, stop=self._stop.is_set))
        except KadminError as exc:
            outcomes = getattr(exc, "outcomes", None)
            if outcomes is not None:
                self._finished(outcomes)
            self._say("\n".join(exc.lines()))
            self._apply.disabled = isinstance(exc, PartlyFailed)
        finally:
            self._stopper.disabled = True

    def _advanced(self, advance: Advance) -> None:
        self._say(str(advance))

    def _finished(self, outcomes: Outcomes) -> None:
        self.outcomes = outcomes
        self.sheet.show(outcomes.to_arrow().to_pylist())
        self._say(outcomes.title())

    def _say(self, text: str) -> None:
        self._controls.rewrite(self._status, printable(text) if "\n" not in text else text)
