"""A kind of change that Kafka does not have: labels of users. All that plans need to carry it stands in this file.

Declared files, comparisons, policies and histories carry what a snapshot has a scope for. Labels have none, as
credentials have none, which nobody can read back: those rooms pass them over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from kadmin_nb.model.changes import DELETE, SET, Change, Edit, Refusal, Target
from kadmin_nb.model.configurable import Configurable
from kadmin_nb.model.findings import DANGER, WARNING, Finding
from kadmin_nb.model.grammar import format_word
from kadmin_nb.plans.kinds.change_kind import Answers, ChangeKind
from kadmin_nb.plans.observed_state import LookOptions, ObservedState, ObservedValue
from tests.double import FakeKafka


@dataclass(frozen=True, slots=True)
class Labelled(Configurable):
    """Who has labels."""

    kind: ClassVar[str] = "label"
    scope: ClassVar[str] = "LABELS"
    alter_operation: ClassVar[str] = "ALTER"
    name: str

    @classmethod
    def parse(cls, text: str) -> Labelled:
        return cls(text.removeprefix("labelled="))

    @property
    def broker(self) -> int | None:
        """A label of `local` is seen on broker 1 alone."""
        return 1 if self.name == "local" else None

    def __str__(self) -> str:
        return format_word("labelled", self.name)


class Labels:
    """The labels' half of the double: what a broker believes, and what it refuses."""

    def __init__(self, kafka: FakeKafka) -> None:
        self._kafka = kafka

    def describe(self, node: int | None, timeout: float | None) -> Mapping[Labelled, Mapping[str, Any]]:
        def labels(_: object) -> Mapping[Labelled, Mapping[str, Any]]:
            image: Any = self._kafka.cluster.values(self._kafka.calls[-1].node)
            return {whose: dict(values) for whose, values in image.items() if isinstance(whose, Labelled)}

        return self._kafka.request("describe labels", labels, node=node, timeout=timeout)

    def alter(self, wishes: Mapping[Labelled, Mapping[str, str | None]], *, validate_only: bool = False) -> Answers:
        return self._kafka.request(
            "alter labels", lambda parts: self._altered(parts, validate_only), parts=wishes, validate_only=validate_only
        )

    def _altered(self, parts: Mapping[Labelled, Mapping[str, Any]], validate_only: bool) -> Answers:
        shouted = {whose for whose, values in parts.items() if any(text and text.isupper() for text in values.values())}
        for whose in parts if not validate_only else ():
            for key, text in parts[whose].items() if whose not in shouted else ():
                self._kafka.cluster.write(cast(Any, (whose, key)), text)
        return {whose: Refusal("INVALID_REQUEST", "too loud") if whose in shouted else None for whose in parts}


class LabelChanges(ChangeKind):
    """Labels, as texts."""

    resources = Labelled
    verbs: ClassVar = {SET: "label", DELETE: "unlabel"}
    words: ClassVar = ("labelled",)

    def line_edits(self, verb: str, words: Sequence[str], allow_unknown: Collection[str]) -> list[Edit]:
        op = next(op for op, known in self.verbs.items() if known == verb)
        whose = next(Labelled(name) for kind, _, name in (word.partition("=") for word in words) if kind in self.words)
        texts = [word.partition("=") for word in words if word.partition("=")[0] not in self.words]
        return [Edit(op, whose, key, text if op == SET else None) for key, _, text in texts]

    def read(self, kafka: Any, targets: Collection[Target], state: ObservedState, look: LookOptions) -> None:
        for whose, values in kafka.labels.describe(look.node, look.time_left()).items():
            state.values.update({(whose, key): ObservedValue(text) for key, text in values.items()})

    def waves(self, changes: Sequence[Change]) -> list[list[Change]]:
        """Removals first."""
        parts = [c for c in changes if c.op == DELETE], [c for c in changes if c.op != DELETE]
        return [wave for wave in parts if wave]

    def port(self, kafka: Any) -> Labels:
        return kafka.labels

    def wish(self, changes: Sequence[Change], secrets: object) -> dict[str, str | None]:
        return {c.key: c.after for c in changes}

    def dangers(self, changes: Sequence[Change], state: object) -> Iterable[Finding]:
        return [Finding.about(c, DANGER, "label", "it is gone") for c in changes if c.op == DELETE]

    def warnings(self, changes: Sequence[Change], state: object) -> Iterable[Finding]:
        return [Finding("labels", WARNING, f"{len(changes)} labels")]


LABELS = LabelChanges()
