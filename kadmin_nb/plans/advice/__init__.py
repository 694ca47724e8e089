"""The advice on a plan, beside its rows: dangers, which have to be confirmed, and warnings, which do not.

Both are made when the plan is made, from what the cluster says then, and stand beside the hashed body: a saved plan has
them as notes. What `apply` refuses does not depend on them: it judges anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import pyarrow as pa

from ...errors import printable
from ...frames.answer import Answer, findings_table, row_of
from ...hints import Option, Sentence, Syntax, Verb, Way, sentence
from ...model.findings import DANGER, WARNING, Finding

REASON = Option("reason", "WHY")
"""The option that a dangerous plan needs, when it is made or when it is applied."""

NAMED = 5
"""Dangerous rows that are named where many have to be allowed."""

SHOWN = 20
"""Lines of each that are shown below a plan."""

_MAX_NAMES = 3
"""Names that a line has; the rest is counted."""


@dataclass(frozen=True)
class Advice:
    """The dangers of a plan, and its warnings.

    `needs_allowing` is False where dangers are said and let through: in kafka-configs.
    """

    dangers: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    needs_allowing: bool = True

    def with_dangers(self, more: Iterable[Finding]) -> Advice:
        """The same with some more."""
        return replace(self, dangers=in_order([*self.dangers, *more]))

    def with_warnings(self, more: Collection[Finding]) -> Advice:
        """The same with some more."""
        return replace(self, warnings=(*self.warnings, *more))

    def refusal_lines(
        self, reason: str | None, syntax: Syntax, shown: int | None = SHOWN, *, is_applicable: bool = True
    ) -> list[str]:
        """The dangers of a plan with this reason, a line each, and what lets them through.

        How to apply it is said in that syntax; one that cannot be applied needs no allowance.
        """
        is_refused = self.dangers and self.needs_allowing and is_applicable
        lifting = lifted(self.dangers, reason).at(syntax) if is_refused else ""
        return [*_head(self.dangers, shown), *filter(None, [printable(lifting)])]

    def warning_lines(self, shown: int | None = SHOWN) -> list[str]:
        """The warnings, a line each."""
        return _head(self.warnings, shown)

    def notes(self) -> list[dict[str, str]]:
        """The notes of a plan's file that say it."""
        of_notes = ("row", "resource", "key", "message")
        rows = [(f.severity, row_of(f, (f.severity, *of_notes))) for f in (*self.dangers, *self.warnings)]
        return [
            {"kind": severity, **{name: str(value) for name, value in row.items() if value is not None}}
            for severity, row in rows
        ]


def advice_of_notes(notes: Iterable[Mapping[str, str]]) -> Advice:
    """The advice that these notes are.

    Raises
    ------
    KeyError, ValueError
        They are none.
    """
    several = [_finding(note) for note in notes]
    dangers, warnings = (tuple(f for f in several if f.severity == severity) for severity in (DANGER, WARNING))
    return Advice(dangers, warnings)


def in_order(dangers: Iterable[Finding]) -> tuple[Finding, ...]:
    """Dangers by their rows."""
    return tuple(sorted(dangers, key=lambda danger: danger.row))


def _head(several: Sequence[Finding], shown: int | None) -> list[str]:
    """A line each of the first; a danger begins with the sign of its row."""
    begins = "!" if several and several[0].severity == DANGER else f"{WARNING}:"
    lines = [printable(f"{begins} {finding.line}") for finding in several[:shown]]
    more = len(several) - len(lines)
    return [*lines, f"{begins} … and {more:,} more"] if more else lines


def lifted(dangers: Iterable[Finding], reason: str | None) -> Sentence:
    """The ways out of these dangers, and the options that apply a plan with them; of many, the first."""
    rows = list({danger.allowed_by: danger for danger in dangers}.values())
    text = "Correct it or leave it out; to apply it anyway: {}"
    ways: list[Way] = []
    if not reason:
        text, ways = f"{text} and {{}}", [REASON]
    if len(rows) > NAMED:
        text += f". {len(rows) - NAMED:,} more have to be allowed, too: {{}}"
        ways.append(Verb("plan show PLAN --dangers", "plan.dangers()"))
    return sentence(f"{text}.", allowing(rows[:NAMED]), *ways)


def allowing(dangers: Iterable[Finding]) -> Option:
    """The argument that lets these through, each row by its key and its name: a key alone would let all through."""
    return Option("allow", list(dict.fromkeys(danger.allowed_by for danger in dangers)))


def several(names: Collection[object]) -> str:
    """A few of them, and how many more."""
    first_names, more = list(map(str, islice(names, _MAX_NAMES))), len(names) - _MAX_NAMES
    return ", ".join(first_names) + (f" and {more:,} more" if more > 0 else "")


def answer(schema: pa.Schema, findings: Iterable[Finding]) -> Answer:
    """DANGERS or WARNINGS."""
    return Answer(findings_table(schema, findings))


def _finding(note: Mapping[str, str]) -> Finding:
    severity = note["kind"]
    place = {name: note[name] for name in ("row", "resource", "key") if name in note or severity == DANGER}
    row, target, key = int(place.get("row", 0)), place.get("resource"), str(place.get("key", ""))
    return Finding(str(note[severity]), severity, str(note["message"]), target, key, row)
