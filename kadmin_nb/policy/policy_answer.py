"""POLICY as an answer: counted first, what is broken shown, and turned into a refusal where a plan breaks it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import Invalid, KadminError, PlanRefused, printable
from ..exit_state import ExitState
from ..frames.answer import Answer
from ..frames.pages import NOTEBOOK, Page
from ..hints import Hint, Verb, sentence
from .rules import AS_BEFORE, BROKEN, KEPT, REFUSE, UNKNOWN, WARN

if TYPE_CHECKING:
    from ..frames.blocks import Block
    from ..plans.plan import Plan

CHECK = Verb("policy check --plan FILE", "policy.check(plan, on=cluster)")
RULES_TOLD = 3
"""Broken rules that a refusal tells, with a breach of each."""

_SAID = {
    (BROKEN, REFUSE): "broken",
    (BROKEN, WARN): "broken (warns)",
    (UNKNOWN, REFUSE): "not known",
    (UNKNOWN, WARN): "not known (warns)",
    (AS_BEFORE, REFUSE): "broken as before",
    (AS_BEFORE, WARN): "broken as before (warns)",
    (KEPT, REFUSE): "kept",
    (KEPT, WARN): "kept",
}


class PolicyAnswer(Answer):
    """POLICY. A row fails where a rule that refuses is broken, or nobody can tell; of a plan, where it is to blame."""

    is_frame = False

    def __init__(self, table: pa.Table, about_plan: bool = False) -> None:
        super().__init__(table)
        self.about_plan = about_plan

    def _failing(self) -> pa.Array:
        bad = pc.is_in(self._table["state"], pa.array([BROKEN] if self.about_plan else [BROKEN, UNKNOWN]))
        return pc.and_(bad, pc.equal(self._table["severity"], REFUSE))

    def exit_state(self, detailed: bool = False) -> ExitState:
        """Broken rules are differences where everything could be judged."""
        if self.ok:
            return ExitState.DONE
        states = set(self.failed._table["state"].to_pylist())
        return ExitState.DIFFERENCES if detailed and states == {BROKEN} else ExitState.FAILED

    @property
    def broken(self) -> Self:
        """The rows that are not kept, warnings among them."""
        return type(self)(self._table.filter(pc.not_equal(self._table["state"], KEPT)), self.about_plan)

    @property
    def failed(self) -> Self:
        """The rows that make it fail."""
        return type(self)(self._table.filter(self._failing()), self.about_plan)

    def raise_for_errors(self) -> Self:
        """Itself when every rule that refuses is kept.

        Raises
        ------
        Invalid
            One is broken, with its reason, or cannot be judged.
        """
        if complaint := self._complaint():
            raise Invalid(f"the policy is not kept: {complaint}", code="POLICY")
        return self

    def refuse(self, plan: Plan) -> Self:
        """Itself when the plan breaks nothing.

        Raises
        ------
        PlanRefused
            It breaks a rule, or makes it worse: the rule and its reason.
        """
        if complaint := self._complaint():
            hint = Hint("Nothing was sent.", sentence("{} tells all of it.", CHECK))
            raise PlanRefused(f"plan {plan.id[:12]} breaks {complaint}", code="POLICY", hint=hint)
        return self

    @property
    def remarks(self) -> list[str]:
        """A line for each rule that is not kept and does not make it fail: it warns, or was broken before."""
        others = self.broken._table.filter(pc.invert(pc.is_in(self.broken._table["rule"], self.failed._table["rule"])))
        return [f"policy: {_breach_text(others.filter(pc.equal(others['rule'], rule)))}" for rule in _rules(others)]

    def _complaint(self) -> str:
        failed = self.failed._table
        rules = _rules(failed)
        breach_texts = [_breach_text(failed.filter(pc.equal(failed["rule"], rule))) for rule in rules[:RULES_TOLD]]
        more = len(rules) - len(breach_texts)
        return " | ".join([*breach_texts, *([f"and {more:,} more rule{'s' * (more > 1)}"] if more else [])])

    def _error(self, row: dict[str, Any]) -> KadminError:
        return Invalid(f"{row['rule']}: {row['message']}", code="POLICY")

    def title(self) -> str:
        """Counts of the rules, and of those in each state."""
        worst: dict[str, int] = {}
        states = list(_SAID)
        kinds = ["rule", "severity", "state"]
        for row in self._table.group_by(kinds, use_threads=False).aggregate([]).to_pylist():
            rank = states.index((row["state"], row["severity"]))
            worst[row["rule"]] = min(rank, worst.get(row["rule"], rank))
        counted = Counter(_SAID[states[rank]] for rank in sorted(worst.values()))
        rules = f"{len(worst)} rule{'s' * (len(worst) != 1)}"
        return printable(", ".join([rules, *(f"{count} {said}" for said, count in counted.items())]))

    def _shown(self) -> pa.Table:
        names = ("cluster_id", "rule", "severity", "state", "message", "wanted", "reason")
        return self.broken._table.select([name for name in names if name in self._table.column_names])

    def table(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        shown = self._shown()
        return [shown] if len(shown) else []


def _rules(table: pa.Table) -> list[str]:
    return list(pc.unique(table["rule"]).to_pylist())


def _breach_text(breaches: pa.Table) -> str:
    """A rule's first breach, how many more there are, and its reason."""
    first, more = breaches.slice(0, 1).to_pylist()[0], len(breaches) - 1
    also = f", and {more:,} more" if more else ""
    return f"{first['rule']}: {first['message']} (wanted {first['wanted']}){also}; {first['reason']}"


def together(answers: Mapping[str, PolicyAnswer]) -> PolicyAnswer:
    """POLICY of several clusters, with a leading `cluster_id`."""
    tables = []
    for cluster_id, answer in answers.items():
        table = answer.to_arrow().replace_schema_metadata()
        cluster_column = pa.repeat(pa.scalar(cluster_id, pa.string()), len(table))
        tables.append(table.add_column(0, pa.field("cluster_id", pa.string(), nullable=False), cluster_column))
    return PolicyAnswer(pa.concat_tables(tables))
