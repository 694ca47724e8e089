"""Declared: what a file says, and the difference between that and what a cluster holds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import PurePath

from ..errors import Invalid, KadminError, PlanRefused, UsageError, WrongCluster
from ..hints import Hint, Option, did_you_mean, sentence
from ..model.changes import DELETE, SET, Edit, Target
from ..model.configurable import Configurable
from ..model.entity import TYPES
from ..model.quota_keys import QUOTA_KEY_NAMES
from ..model.resources import WORDS, Resource
from ..secrets import SHOWN, Secret, revealed
from . import snapshot_kinds
from .snapshot_kinds import SCOPES, parsed
from .snapshots import Snapshot, UnreadPart, refuse_other_than_snapshot, snapshot_of_texts

# --- the words of a file for what it is about ---

SECTIONS = {kind.section: kind for kind in snapshot_kinds.KINDS.values() if kind.is_declared}
"""The kinds of what is declared, each under its own key."""

QUOTAS, CONFIGS, CLIENT_CONFIGS = SECTIONS
CREDENTIALS = snapshot_kinds.CREDENTIALS.name
KINDS: dict[str, str] = {
    word: scope
    for section, kind in SECTIONS.items()
    for word, scope in (WORDS if section == CONFIGS else {section: kind.scopes[0]}).items()
}
"""Each word with its part of a snapshot; `broker-logger` has one that no snapshot reads."""

_KIND_OF = {scope: kind for kind, scope in KINDS.items()}


def kind_of(resource: Configurable) -> str:
    """The kind that an entity or a resource is of."""
    return _KIND_OF[resource.scope]


def section_of(kind: str) -> str:
    """The section that has a kind: configs have one for all types of resources."""
    return kind if kind in SECTIONS else CONFIGS


def kinds(words: Iterable[str]) -> tuple[str, ...]:
    """The kinds that these words name, in our order; `configs` names all types of resources.

    Raises
    ------
    UsageError
        A word that is none.
    """
    chosen = {kind for word in words for kind in ([*WORDS] if word == CONFIGS else [_known(word)])}
    return tuple(kind for kind in KINDS if kind in chosen)


def scopes_of(words: Collection[str]) -> tuple[str, ...]:
    """The parts of a snapshot that have these kinds, or credentials; levels of loggers are in none.

    Raises
    ------
    UsageError
        An unknown kind.
    """
    scopes = {KINDS[kind] for kind in kinds(word for word in words if word != CREDENTIALS)}
    scopes.update(snapshot_kinds.CREDENTIALS.scopes if CREDENTIALS in words else ())
    return tuple(scope for scope in SCOPES if scope in scopes)


def read_by(scopes: Iterable[str]) -> tuple[str, ...]:
    """The kinds that a snapshot of these scopes has read."""
    return tuple(kind for kind, scope in KINDS.items() if scope in {*scopes} & {*SCOPES})


def _known(word: str) -> str:
    if word in KINDS:
        return word
    words = [*KINDS, CONFIGS]
    hint = did_you_mean(
        word, words, f"One of {', '.join(words)}; no file has credentials, as brokers show no password."
    )
    raise UsageError(f"unknown kind {word}", hint=hint)


# --- what a snapshot holds, and what of it could not be read ---

Held = dict[tuple[str, str, str], str | None]
"""The texts that are set, by kind, the words of what they are set on, and key; one that is None is a secret."""


def held_by(snapshot: Snapshot) -> Held:
    """The dynamic values of the cluster: no defaults, and nothing from a broker's file."""
    return {
        (kind.kind, *words): text
        for kind in SECTIONS.values()
        for words, text in kind.own_texts(snapshot.frames[kind.name].to_arrow()).items()
    }


def unread_among(snapshot: Snapshot, kinds: Collection[str]) -> tuple[str, str] | None:
    """Kafka's name of the first error among the resources of these kinds, and a line that names the resource and
    counts the others; None if all could be read.
    """
    rows = [(Resource(row["resource_type"], row["resource_name"]), row["error"]) for row in snapshot.failed]
    failed = [(resource, error) for resource, error in rows if kind_of(resource) in kinds]
    if not failed:
        return None
    (resource, error), more = failed[0], len(failed) - 1
    return error, f"{resource} cannot be read: {error}{f', and {more:,} more' if more else ''}"


# --- what a file says ---


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of an entity or a resource, its declared value, and its place in the file.

    `doubt` is why Kafka would refuse that value; one that the cluster holds all the same may stay. A `is_placeholder`
    stands for a secret that was there when the file was written.
    """

    resource: Configurable
    key: str
    value: str | Secret
    line: int
    place: str = field(repr=False)
    doubt: KadminError | None = field(default=None, repr=False)
    is_placeholder: bool = False

    @property
    def target(self) -> Target:
        """The resource and the key."""
        return self.resource, self.key

    @property
    def words(self) -> tuple[str, str, str]:
        """The same as `Held` has it."""
        return self.resource.kind, str(self.resource), self.key


@dataclass(frozen=True)
class Difference:
    """The edits that lead to what a file declares; `left` is what --prune does not remove, with the reason, and
    `unread` the parts of which it removes nothing, as they could not be read.

    `same_stores` are brokers' stores that are set as declared, and that a broker reloads only if they are sent again.
    """

    edits: tuple[Edit, ...]
    left: Mapping[Target, str]
    where: str
    unread: tuple[UnreadPart, ...] = ()
    same_stores: tuple[Target, ...] = ()

    def __iter__(self) -> Iterator[Edit]:
        return iter(self.edits)

    def __len__(self) -> int:
        return len(self.edits)

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Use it around planning the edits: an error about one of them begins with its line."""
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
        counts = [f"{removed:,} to remove (--prune)"] if removed or self.left else []
        if self.left:
            counts.append(f"{len(self.left):,} left as is ({kept_in_words(self.left)})")
        counts.append(f"{len(self) - removed:,} to set")
        if self.same_stores:
            resource, key = self.same_stores[0]
            counts.append(
                f"{len(self.same_stores):,} of a broker's stores as declared ({key} of {resource}"
                f"{', …' if len(self.same_stores) > 1 else ''}): --again sends them, and the broker reloads the files"
            )
        lines = [f"{self.where}: {', '.join(counts)}"]
        return "; ".join([*lines, *(f"nothing is pruned of a part: {part}" for part in self.unread)])


@dataclass(frozen=True, eq=False)
class Declared:
    """The quotas and configs that a file declares; others stay as they are.

    `kinds` are those that it speaks of in full: only these are pruned. `complete` is False for what could not be read
    in full when it was written. `where` names the file in errors.
    """

    entries: tuple[Entry, ...]
    kinds: tuple[str, ...]
    cluster_id: str | None = None
    taken_at: datetime | None = None
    complete: bool = True
    where: str = "the file"

    @property
    def spoken_of(self) -> tuple[str, ...]:
        """The kinds that it has, and the kinds of its entries."""
        named = {*self.kinds, *(kind_of(entry.resource) for entry in self.entries)}
        return tuple(kind for kind in KINDS if kind in named)

    def difference(
        self,
        against: Snapshot,
        *,
        prune: bool = False,
        any_cluster: bool = False,
        allow_unknown: Collection[str] = (),
        again: bool = False,
    ) -> Difference:
        """The smallest set of edits from a snapshot to what the file declares.

        Parameters
        ----------
        prune
            Also remove what the file does not mention, of the kinds that it has. Secrets, internal topics of Kafka,
            throttles of copies that are under way and quotas that this version does not know stay.
        any_cluster
            Accept a file of another cluster.
        allow_unknown
            Unknown quota keys and entity types to allow.
        again
            Also send the key stores and trust stores of brokers that are set as declared.

        Raises
        ------
        WrongCluster
            The file is for another cluster.
        UsageError, Invalid
            An unknown key or entity type, a placeholder for a secret that does not exist, a value that no quota can
            have; with its line.
        PlanRefused
            The file has entries of a part that could not be read; pruning with an incomplete file, or against kinds
            that could not be read in full.
        """
        refuse_other_than_snapshot(against)
        self.refuse_other_cluster(against.cluster_id, any_cluster=any_cluster)
        self._refuse_unread(against)
        if prune:
            self._refuse_half(against)
        try:
            held = held_by(against)
            edits = [edit for entry in self.entries if (edit := self._edit(entry, held, allow_unknown)) is not None]
            same = [e for e in self.entries if e.resource.reloads(e.key) and held.get(e.words) == revealed(e.value)]
        except KadminError as exc:
            raise exc.within(self.where) from None
        removals, not_removed = self._pruned(held, against, allow_unknown) if prune else ((), {})
        sent_again = [self._set(entry, again=True) for entry in same] if again else []
        left_alone = () if again else tuple(entry.target for entry in same)
        unread = tuple(part for part in against.unread if prune and part.scope in scopes_of(self.kinds))
        return Difference((*edits, *sent_again, *removals), not_removed, self.where, unread, left_alone)

    def refuse_other_cluster(self, cluster_id: str, *, any_cluster: bool = False) -> None:
        """Raise WrongCluster if the file names another cluster."""
        if self.cluster_id is not None and self.cluster_id != cluster_id and not any_cluster:
            raise WrongCluster(
                f"{self.where} is for cluster {self.cluster_id}, but this is {cluster_id}",
                hint=Hint("Nothing was sent.", sentence("{} skips this check.", Option("any_cluster"))),
            )

    def snapshot(self) -> Snapshot:
        """The same as a snapshot, of the kinds that it has; placeholders are sensitive values.

        Levels of loggers are not in it: no snapshot reads them.
        """
        shown = ((e.resource, e.key, SHOWN if isinstance(e.value, Secret) else e.value) for e in self.entries)
        return snapshot_of_texts(
            shown,
            cluster_id=self.cluster_id or "",
            taken_at=self.taken_at or datetime.now(UTC),
            scopes=[KINDS[kind] for kind in self.kinds],
            complete=self.complete,
        )

    @property
    def _name(self) -> str:
        return PurePath(self.where).name

    def _edit(self, entry: Entry, held: Held, allow_unknown: Collection[str]) -> Edit | None:
        """The edit that an entry needs, if any; a placeholder changes nothing, and needs a secret on the cluster."""
        is_set, current = entry.words in held, held.get(entry.words)
        if entry.is_placeholder and (current is not None or not is_set):
            raise UsageError(
                f"{entry.place}: {entry.key} of {entry.resource} is {SHOWN} here, and not set on the cluster",
                hint="Write where the secret is, env:NAME or file:PATH, or remove the line.",
            )
        if entry.is_placeholder or current == revealed(entry.value):
            return None
        if not is_set:
            _refuse_unknown(entry, allow_unknown)
        if entry.doubt is not None:
            raise entry.doubt.within(entry.place)
        return self._set(entry)

    def _set(self, entry: Entry, *, again: bool = False) -> Edit:
        return Edit(SET, *entry.target, entry.value, f"line {entry.line} of {self._name}", again=again)

    def _refuse_unread(self, against: Snapshot) -> None:
        """Refuse entries of a part that could not be read: what they would change is not known."""
        unread = {part.scope: part for part in against.unread}
        entry = next((entry for entry in self.entries if entry.resource.scope in unread), None)
        if entry is not None:
            part = unread[entry.resource.scope]
            raise PlanRefused(
                f"{entry.place}: {part}, so no plan can be made of {entry.resource}",
                code=part.code,
                hint=part.hint or "Nothing was sent.",
                targets=[entry.target],
            ).within(self.where)

    def _refuse_half(self, against: Snapshot) -> None:
        if not self.complete:
            raise PlanRefused(f"{self.where} is not complete, so nothing is pruned", hint="Nothing was sent.")
        if unread := unread_among(against, self.kinds):
            raise PlanRefused(f"{unread[1]}, so nothing is pruned", code=unread[0], hint="Nothing was sent.")
        if against.failed.ok and not against.unread and not against.complete:
            raise PlanRefused("the cluster could not be read in full, so nothing is pruned")

    def _pruned(
        self, held: Held, against: Snapshot, allow_unknown: Collection[str]
    ) -> tuple[Iterable[Edit], Mapping[Target, str]]:
        """The removals, and what is not removed, with the reason."""
        mentioned = {entry.words for entry in self.entries}
        read = {kind for kind in self.kinds if KINDS[kind] in against.scopes}
        removals, reasons = [], {}
        for (kind, words, key), text in held.items():
            if (kind, words, key) in mentioned:
                continue
            target: Target = (parsed(kind, words), key)
            if kind_of(target[0]) not in read:
                continue
            if why := _why_kept(target, text is None, allow_unknown) or against.set_for_a_while(target):
                reasons[target] = why
            else:
                removals.append(Edit(DELETE, *target, note=f"not in {self._name}"))
        return removals, reasons


def kept_in_words(kept: Mapping[Target, str]) -> str:
    """The first of each reason, and the reason."""
    by_reason: dict[str, list[str]] = {}
    for (resource, key), why in kept.items():
        by_reason.setdefault(why, []).append(f"{key} of {resource}")
    return "; ".join(
        f"{', '.join(several[:_NAMED])}{', …' * (len(several) > _NAMED)}: {why}" for why, several in by_reason.items()
    )


_NAMED = 4
"""Keys of each reason that are named; a reassignment has four."""


_SET_BY_KAFKA = ("BROKER", "broker=<default>", "min.insync.replicas")
"""With eligible leader replicas (KIP-966) the controller writes it, and refuses its removal."""


def _why_kept(target: Target, is_secret: bool, allow_unknown: Collection[str]) -> str | None:
    resource, key = target
    if is_secret:
        return "a secret"
    if resource.is_internal:
        return "an internal topic of Kafka"
    if (resource.scope, str(resource), key) == _SET_BY_KAFKA:
        return "Kafka 4.1 and newer sets it by itself, for eligible leader replicas, and does not let it be removed"
    strange = next((name for name in resource.unknown_names(key) if name not in allow_unknown), None)
    return f"{strange} is not known here" if strange is not None else None


def _refuse_unknown(entry: Entry, allow_unknown: Collection[str]) -> None:
    """A word that the cluster does not hold either is a slip, not one of a Kafka to come."""
    for name in entry.resource.unknown_names(entry.key):
        if name not in allow_unknown:
            noun, candidates = ("quota key", QUOTA_KEY_NAMES) if name == entry.key else ("entity type", TYPES)
            meant = f"The settings of a {name} go under {CONFIGS}." if name in WORDS else did_you_mean(name, candidates)
            raise Invalid(
                f"{entry.place}: unknown {noun} {name}",
                hint=Hint(meant, sentence("Confirm with {}.", Option("allow_unknown", [name]))),
            )
