"""The advice on a plan, beside its rows: dangers, which have to be confirmed, and warnings, which do not.

Both are made when the plan is made, from what the cluster says then, and stand beside the hashed body: a saved plan has
them as notes. What `apply` refuses does not depend on them: it judges anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ...errors import printable
from ...hints import Option, Sentence, Syntax, sentence

DANGER, WARNING = "danger", "warning"
"""The kinds of notes that an advice is kept as."""

REASON = Option("reason", "WHY", words="a reason")
"""The option that a dangerous plan needs when it is made."""

SHOWN = 20
"""Lines of each that are shown below a plan."""


@dataclass(frozen=True, slots=True)
class Danger:
    """A row that weakens something, from what to what."""

    row: int
    resource: str
    key: str
    danger: str
    message: str

    def __str__(self) -> str:
        return f"row {self.row}, {self.resource} {self.key}: {self.message}"


@dataclass(frozen=True, slots=True)
class PlanWarning:
    """Something that the rows do not show; `row`, `resource` and `key` are the first that it is about."""

    warning: str
    message: str
    row: int | None = None
    resource: str | None = None
    key: str | None = None

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Advice:
    """The dangers of a plan, and its warnings, which are worked out when first asked for.

    `needs_allowing` is False where dangers are said and let through: in kafka-configs.
    """

    dangers: tuple[Danger, ...] = ()
    warn: Callable[[], Sequence[PlanWarning]] = field(default=lambda: (), repr=False)
    needs_allowing: bool = True

    @cached_property
    def warnings(self) -> tuple[PlanWarning, ...]:
        return tuple(self.warn())

    def with_dangers(self, more: Iterable[Danger]) -> Advice:
        """The same with some more."""
        dangers = tuple(sorted([*self.dangers, *more], key=lambda danger: danger.row))
        return Advice(dangers, lambda: self.warnings, self.needs_allowing)

    def lines(
        self, reason: str | None, syntax: Syntax, shown: int | None = SHOWN, *, is_applicable: bool = True
    ) -> list[str]:
        """As they stand below a plan with this reason, a line each, or `shown` of each kind.

        How to apply it is said in that syntax; one that cannot be applied needs no allowance.
        """
        is_refused = self.dangers and self.needs_allowing and is_applicable
        lifting = lifted(self.dangers, reason).at(syntax) if is_refused else ""
        warnings = [printable(line) for line in _head(WARNING, self.warnings, shown)]
        return [*self.danger_lines(shown), *filter(None, [printable(lifting)]), *warnings]

    def danger_lines(self, shown: int | None = SHOWN) -> list[str]:
        """The dangers, a line each."""
        return [printable(line) for line in _head(DANGER, self.dangers, shown)]

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled, it is worked out."""
        return _kept, (self.dangers, self.warnings)

    def notes(self) -> list[dict[str, str]]:
        """As they stand beside a plan's body."""
        return [
            *({"kind": DANGER, **_texts(danger)} for danger in self.dangers),
            *({"kind": WARNING, **_texts(warned)} for warned in self.warnings),
        ]


def advice_of_notes(notes: Iterable[Mapping[str, str]]) -> Advice:
    """The advice that these notes are.

    Raises
    ------
    KeyError, ValueError
        They are none.
    """
    notes = list(notes)
    dangers = (note for note in notes if note["kind"] == DANGER)
    return _kept(tuple(map(_danger, dangers)), tuple(_warned(note) for note in notes if note["kind"] == WARNING))


def _kept(dangers: tuple[Danger, ...], warnings: tuple[PlanWarning, ...]) -> Advice:
    return Advice(dangers, lambda: warnings)


def _head(kind: str, several: Sequence[Danger] | Sequence[PlanWarning], shown: int | None) -> list[str]:
    more = len(several[shown:]) if shown is not None else 0
    return [f"{kind}: {advice_line}" for advice_line in several[:shown]] + [f"{kind}: … and {more:,} more"] * (more > 0)


def lifted(dangers: Iterable[Danger], reason: str | None) -> Sentence:
    """The options that apply a plan with these dangers."""
    if reason:
        return sentence("to apply it: {}", allowing(dangers))
    return sentence("to apply it: {}, and {} when it is planned", allowing(dangers), REASON)


def allowing(dangers: Iterable[Danger]) -> Option:
    """The argument that lets these through."""
    return Option("allow", list(dict.fromkeys(danger.key for danger in dangers)))


def _texts(advice_row: Danger | PlanWarning) -> dict[str, str]:
    names = type(advice_row).__dataclass_fields__
    values = {name: getattr(advice_row, name) for name in names}
    return {name: str(value) for name, value in values.items() if value is not None}


def _danger(note: Mapping[str, str]) -> Danger:
    return Danger(int(note["row"]), *(str(note[name]) for name in ("resource", "key", "danger", "message")))


def _warned(note: Mapping[str, str]) -> PlanWarning:
    row = int(note["row"]) if "row" in note else None
    return PlanWarning(str(note["warning"]), str(note["message"]), row, note.get("resource"), note.get("key"))
