"""A plan to take elsewhere: its print formats, and the parameters of a runbook that makes the same changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import KadminError
from ..plans.plan import live_of
from ..plans.runbook_parameters import runbook_parameters
from . import controls
from .copy_box import CopyBox

if TYPE_CHECKING:
    from ..plans.formats import PlanText
    from ..plans.plan import Plan

_FORMATS: dict[str, tuple[str, Callable[[Plan], PlanText]]] = {
    "cell": ("to_cell", lambda plan: plan.to_cell()),
    "Python": ("to_python", lambda plan: plan.to_python()),
    "kafka-configs.sh": ("to_kafka_configs", lambda plan: plan.to_kafka_configs()),
    "Markdown": ("to_markdown", lambda plan: plan.to_markdown()),
}
"""The method of each format, by its name and as a call."""


class PlanCopies:
    """The choice of a format, the button that saves a runbook's parameters, and the text.

    Parameters
    ----------
    allowed
        Gives the dangerous keys that are confirmed by now.
    policies
        Gives the policies that it is applied with.
    """

    def __init__(
        self, plan: Plan, allowed: Callable[[], Collection[str]], policies: Callable[[], Sequence[object]]
    ) -> None:
        self._plan, self._allowed, self._policies = plan, allowed, policies
        self.box = CopyBox()
        self.choice = controls.choice([("…", ""), *((name, name) for name in _FORMATS)], self._copy, label="copy as")
        self.save = controls.button(
            "Save as runbook", self._save, hint="a file of parameters in the working folder, and the lines that run it"
        )
        self.widget = controls.column(controls.row(self.choice, self.save), self.box)

    def _copy(self, name: str) -> None:
        if not name:
            self.box.show("", "")
            return
        method, format_of = _FORMATS[name]
        self.box.show(format_of(self._plan).shown, f"the plan as {name}", f"plan.{method}() has all of it")

    def _save(self) -> None:
        """Write the file, and show what runs it; a refusal is a line in the same place."""
        try:
            self.box.show(self._saved(), "the runbook that makes these changes", "the file has all of it")
        except KadminError as exc:
            self.box.show("\n".join(exc.lines()), "why it was not saved")

    def _saved(self) -> str:
        live = live_of(self._plan)
        target = "" if live is None else live.target
        run = runbook_parameters(self._plan, target, allow=self._allowed(), policies=self._policies())
        place = run.save(Path.cwd())
        return f"# {place.name} is written, in {place.parent}; there:\n{run}"
