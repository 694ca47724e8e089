"""Declared: what a file says, and the difference between that and what a cluster holds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import PurePath

from ..errors import Invalid, KadminError, PlanRefused, WrongCluster
from ..frames.snapshots import SCOPES, Snapshot, snapshot
from ..hints import Hint, Option, did_you_mean, sentence
from ..model.changes import DELETE, SET, Edit, Target
from ..model.configurable import Configurable
from ..model.entity import TYPES
from ..model.quota_keys import IP_KEYS, USER_CLIENT_KEYS
from ..model.resources import WORDS
from ..secrets import SHOWN
from .current_values import CurrentValues, held_by, refuse_other_than_snapshot, tables_of, told, unread, words_of
from .nodes import Node
from .resource_kinds import CONFIGS, KINDS, kind_of

QUOTA_KEY_NAMES = (*USER_CLIENT_KEYS, *IP_KEYS)


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of an entity or a resource, the text it is to have, and where the file says so.

    `doubt` is why Kafka would refuse that value; one that the cluster holds all the same may stay. A `is_placeholder`
    stands for a secret that was there when the file was written.
    """

    resource: Configurable
    key: str
    value: str
    node: Node = field(repr=False)
    doubt: KadminError | None = field(default=None, repr=False)
    is_placeholder: bool = False

    @property
    def target(self) -> Target:
        """The resource and the key."""
        return self.resource, self.key


@dataclass(frozen=True)
class Difference:
    """The edits that lead to what a file says; `left` is what --prune leaves alone, with the reason."""

    edits: tuple[Edit, ...]
    left: Mapping[Target, str]
    where: str

    def __iter__(self) -> Iterator[Edit]:
        return iter(self.edits)

    def __len__(self) -> int:
        return len(self.edits)

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Around planning the edits: an error that is about one of them begins with its line."""
        try:
            yield
        except KadminError as exc:
            written = (edit for edit in self.edits if edit.op == SET and edit.target in exc.targets)
            if (edit := next(written, None)) is None:
                raise
            raise exc.within(edit.note) from None

    def __str__(self) -> str:
        """Counts, removals first."""
        removed = sum(edit.op == DELETE for edit in self.edits)
        counts = [f"{removed:,} to remove by --prune"] if removed or self.left else []
        kept_lines = [f"{key} of {resource}: {why}" for (resource, key), why in self.left.items()]
        if kept_lines:
            counts.append(f"{len(kept_lines):,} left alone ({kept_lines[0]}{', …' if len(kept_lines) > 1 else ''})")
        return f"{self.where}: {', '.join([*counts, f'{len(self) - removed:,} to set'])}"


@dataclass(frozen=True, eq=False)
class Declared:
    """The declaration in a file of a cluster's quotas and configs; others stay as they are.

    `kinds` are those that it speaks of in full: only these are pruned. `complete` is False for what could not be read
    in full when it was written. `where` names the file in errors.
    """

    entries: tuple[Entry, ...]
    kinds: tuple[str, ...]
    cluster_id: str | None = None
    taken_at: datetime | None = None
    complete: bool = True
    where: str = "the file"

    def difference(
        self,
        against: Snapshot,
        *,
        prune: bool = False,
        any_cluster: bool = False,
        allow_unknown: Collection[str] = (),
    ) -> Difference:
        """The least edits that lead from a snapshot to what the file says.

        Parameters
        ----------
        prune
            Also remove what the file does not mention, of the kinds that it speaks of. Secrets stay, and so do topics
            of Kafka's own, and quotas that this version does not know.
        any_cluster
            Take a file of another cluster.
        allow_unknown
            Quota keys and entity types that nobody knows and that are meant.

        Raises
        ------
        WrongCluster
            The file is about another cluster.
        UsageError, Invalid
            A key or an entity type that nobody knows, a placeholder for a secret that is not there, a value that no
            quota can have; with its line.
        PlanRefused
            To prune by what is not complete, or against what of these kinds could not be read.
        """
        refuse_other_than_snapshot(against)
        self.refuse_other_cluster(against.cluster_id, any_cluster=any_cluster)
        if prune:
            self._refuse_half(against)
        try:
            current = held_by(against)
            edits = [edit for entry in self.entries if (edit := self._edit(entry, current, allow_unknown)) is not None]
        except KadminError as exc:
            raise exc.within(self.where) from None
        removals, not_removed = self._pruned(current, against, allow_unknown) if prune else ((), {})
        return Difference((*edits, *removals), not_removed, self.where)

    def refuse_other_cluster(self, cluster_id: str, *, any_cluster: bool = False) -> None:
        """Raise WrongCluster where the file names another cluster."""
        if self.cluster_id is not None and self.cluster_id != cluster_id and not any_cluster:
            raise WrongCluster(
                f"{self.where} is about cluster {self.cluster_id}, and this is {cluster_id}",
                hint=Hint("Nothing was sent.", sentence("{} takes it all the same.", Option("any_cluster"))),
            )

    def snapshot(self) -> Snapshot:
        """The same as a snapshot, of the kinds that it speaks of; placeholders are sensitive values.

        Levels of loggers are not in it: no snapshot reads them.
        """
        read = [entry for entry in self.entries if KINDS[kind_of(entry.resource)] in SCOPES]
        return snapshot(
            *tables_of((entry.resource, entry.key, entry.value) for entry in read),
            cluster_id=self.cluster_id or "",
            taken_at=self.taken_at or datetime.now(UTC),
            scopes=[KINDS[kind] for kind in self.kinds],
            complete=self.complete,
        )

    @property
    def _name(self) -> str:
        return PurePath(self.where).name

    def _edit(self, entry: Entry, current: CurrentValues, allow_unknown: Collection[str]) -> Edit | None:
        """The edit that an entry needs, if any."""
        if current.has(entry.target, entry.value):
            return None
        if entry.is_placeholder:
            _refuse_empty_promise(entry, current)
            return None
        _refuse_unknown(entry, current, allow_unknown)
        if entry.doubt is not None:
            raise entry.doubt.within(entry.node.place)
        return Edit(SET, *entry.target, entry.value, f"line {entry.node.line} of {self._name}")

    def _refuse_half(self, against: Snapshot) -> None:
        if not self.complete:
            raise PlanRefused(f"{self.where} is not complete, so it prunes nothing", hint="Nothing was sent.")
        failed = unread(against)
        of_these = [failed_resource for failed_resource in failed if kind_of(failed_resource.resource) in self.kinds]
        if of_these:
            raise PlanRefused(
                f"{told(of_these)}, so nothing is pruned", code=of_these[0].error, hint="Nothing was sent."
            )
        if not failed and not against.complete:
            raise PlanRefused("what the cluster holds was not read in full, so nothing is pruned")

    def _pruned(
        self, current: CurrentValues, against: Snapshot, allow_unknown: Collection[str]
    ) -> tuple[Iterable[Edit], Mapping[Target, str]]:
        """The removals, and what is not removed, with the reason."""
        mentioned = {words_of(entry.target) for entry in self.entries}
        read = {kind for kind in self.kinds if KINDS[kind] in against.scopes}
        undeclared = [target for target in current.targets(mentioned) if kind_of(target[0]) in read]
        reasons = {
            target: why for target in undeclared if (why := _why_kept(target, current, allow_unknown)) is not None
        }
        note = f"not in {self._name}"
        return [Edit(DELETE, *target, note=note) for target in undeclared if target not in reasons], reasons


def _why_kept(target: Target, current: CurrentValues, allow_unknown: Collection[str]) -> str | None:
    resource, key = target
    if current.is_secret(target):
        return "a secret"
    if resource.is_internal:
        return "a topic of Kafka's own"
    strange = next((name for name in resource.unknown_names(key) if name not in allow_unknown), None)
    return f"{strange} is not known here" if strange is not None else None


def _refuse_empty_promise(entry: Entry, current: CurrentValues) -> None:
    """A placeholder changes nothing; one for what is not there promises what nobody can keep."""
    if not current.is_secret(entry.target):
        entry.node.refuse(
            f"{entry.key} of {entry.resource} is {SHOWN} here, and not set on the cluster",
            "Write where the secret is, env:NAME or file:PATH, or take the line out.",
        )


def _refuse_unknown(entry: Entry, current: CurrentValues, allow_unknown: Collection[str]) -> None:
    """A word that the cluster does not hold either is a slip, not one of a Kafka to come."""
    if current.is_set(entry.target):
        return
    for name in entry.resource.unknown_names(entry.key):
        if name not in allow_unknown:
            noun, candidates = ("quota key", QUOTA_KEY_NAMES) if name == entry.key else ("entity type", TYPES)
            raise Invalid(
                f"{entry.node.place}: unknown {noun} {name}",
                hint=Hint(_meant(name, candidates), sentence("Confirm with {}.", Option("allow_unknown", [name]))),
            )


def _meant(name: str, candidates: Sequence[str]) -> str:
    """The nearest words to an unknown one, as a hint."""
    if name in WORDS:
        return f"What is set on a {name} stands under {CONFIGS}."
    return did_you_mean(name, candidates)
