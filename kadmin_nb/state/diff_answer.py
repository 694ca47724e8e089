"""Diff: the answer of a comparison; chosen rows of it can be staged.

Counts come first.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import KadminError, UsageError, WrongCluster, printable
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Page
from ..frames.views import DIFFERENCES, differences_finding
from ..hints import Hint, Option, sentence
from ..model.changes import DELETE, SET, Edit
from ..model.configurable import Configurable
from ..model.figures import utc
from ..model.findings import Row
from ..model.grammar import quote
from .snapshot_kinds import CREDENTIALS, KINDS, parsed
from .snapshots import Snapshot

if TYPE_CHECKING:
    from ..frames.blocks import Block
    from ..plans.stage import Stage

EACH = "<any>"
"""The name under which what brokers have in common goes; no broker has it, they are numbers."""

ANY_BROKER = f"broker={EACH}"
"""The resource of rows of what brokers have in common, in words."""

NATURE, TEMPORARY = "nature", "temporary"
APART = ("default", NATURE, TEMPORARY)
"""The states that count for no difference."""

_SAID_APART = {"default": "only by default", NATURE: "by nature", TEMPORARY: "set by Kafka's tools for a while"}


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a comparison: a snapshot, made of a frame where one was given, and how it is called.

    `topics` are all that a cluster as it is now has, None of anything else; `cluster` is its connection, where it was
    handed in. `is_declared` that it is a file that somebody may have written: it says nothing of what stands in
    server.properties. `only` are the kinds, resources and keys of which alone it says anything, as a plan of its rows.
    """

    says: str
    content: Snapshot
    topics: frozenset[str] | None = None
    is_declared: bool = False
    cluster: Any = None
    only: frozenset[tuple[str, str, str]] | None = None

    @property
    def is_live(self) -> bool:
        """True of a cluster as it is now."""
        return self.topics is not None

    @property
    def is_part(self) -> bool:
        """True of what says nothing of the rest of a cluster: a file, a plan, a frame."""
        return self.is_declared or not self.content.id

    @property
    def cluster_id(self) -> str | None:
        """The cluster that it is of, None where nothing says so."""
        return self.content.cluster_id or None

    def lacks(self, resource: Configurable) -> bool:
        """True if it is a topic that this side certainly does not have."""
        return self.topics is not None and resource.topic is not None and resource.topic not in self.topics

    def __str__(self) -> str:
        whose = f"cluster {self.cluster_id}" if self.cluster_id else "no cluster named"
        when = f" at {utc(self.content.taken_at)}" if self.content.id and not self.is_declared else ""
        return f"{self.says} ({whose}{when}{self.content.shortfall})"


class Diff(Answer):
    """DIFF: the differences from `a` to `b`, a row for each resource and key. Its display begins with counts.

    `only_by_default`, `by_nature` and `set_for_a_while` have what counts for no difference; they are among the rows
    only where everything was asked for. `counts` is DIFF_COUNTS. `id` is the same for the same differences.
    `passed_over` are the scopes that one side says nothing of; `secrets` counts those that both have, which are not
    compared.
    """

    _is_frame = False

    def __init__(
        self,
        table: pa.Table,
        everything: bool = True,
        a: Side | None = None,
        b: Side | None = None,
        passed_over: tuple[str, ...] = (),
        secrets: int = 0,
    ) -> None:
        apart = pc.is_in(table["state"], pa.array(APART, pa.string()))
        super().__init__(table if everything else table.filter(pc.invert(apart)))
        self._whole, self.a, self.b, self.passed_over, self.secrets = table, a, b, passed_over, secrets

    @property
    def everything(self) -> Diff:
        """The same with all rows."""
        return Diff(self._whole, True, self.a, self.b, self.passed_over, self.secrets)

    @property
    def only_by_default(self) -> Answer:
        """Keys that one side sets to the other side's default, and keys whose defaults differ."""
        return Answer(self._of(["default"]))

    @property
    def by_nature(self) -> Answer:
        """Keys that identify a cluster's brokers: ids, listeners, folders."""
        return Answer(self._of([NATURE]))

    @property
    def set_for_a_while(self) -> Answer:
        """Throttles of copies that are under way, which Kafka's tools remove when these are over."""
        return Answer(self._of([TEMPORARY]))

    @property
    def differing(self) -> Answer:
        """All other rows."""
        return Answer(self._of(DIFFERENCES))

    def _of(self, states: Iterable[str]) -> pa.Table:
        return self._whole.filter(pc.is_in(self._whole["state"], pa.array(states, pa.string())))

    @property
    def counts(self) -> Answer:
        """DIFF_COUNTS: the number of rows in each state, hidden ones included."""
        counted = Counter(zip(*(self._whole[name].to_pylist() for name in ("state", "kind")), strict=True))
        states = [state for state in (*DIFFERENCES, *APART) if any(counted[state, k.kind] for k in KINDS.values())]
        rows = ({"state": s, **{name: counted[s, k.kind] for name, k in KINDS.items()}} for s in states)
        return Answer(schemas.table(schemas.DIFF_COUNTS, rows))

    @property
    def id(self) -> str:
        """The id before the rows of `--rows`: it makes sure that row numbers belong to this answer."""
        rows = self.differing.to_arrow().to_pylist()
        return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:12]

    def edits(self, rows: object, like: str) -> list[Edit]:
        """The edits that give the other side the values of side `a` or `b` in these rows.

        Parameters
        ----------
        rows
            Row numbers, a text such as `1-3,7`, or `all`: all rows that can be staged.

        Raises
        ------
        UsageError
            A row that does not exist or cannot be staged: a secret, a row that differs only by a default or by nature
            or could not be read, a common value of all brokers, or a value from a broker's file.
        """
        if like not in ("a", "b"):
            raise UsageError(f"unknown side like={like!r}", hint="It is a or b.")
        whole = self._whole.to_pylist()
        return _edits(whole, _chosen(rows, whole, like), like, self.id)

    def stage(self, onto: Any, rows: object) -> Stage:
        """Stage rows on a cluster, to make it equal to the other side. The plan is an ordinary one.

        Parameters
        ----------
        onto
            `a` or `b`, if that side was passed as a Cluster; or the Cluster.
        rows
            As of `edits`.

        Raises
        ------
        UsageError
            A row that cannot be staged, or a side that is not a Cluster.
        WrongCluster
            The cluster is neither side.
        """
        side = onto.lower() if isinstance(onto, str) else self._side_of(onto)
        if side not in ("a", "b"):
            raise UsageError(f"unknown side onto={onto!r}", hint="It is a, b, or a Cluster.")
        named = self.a if side == "a" else self.b
        if named is None:
            raise UsageError("a part of a comparison cannot be staged", hint="Stage from the whole, with rows=….")
        cluster = named.cluster if isinstance(onto, str) else onto
        if cluster is None:
            raise UsageError(
                f"side {side}, {named.says}, was not passed as a Cluster", hint="Pass one: onto=kn.connect(…)."
            )
        stage = cluster.new_stage()
        stage.add(self.edits(rows, like=_other(side)))
        return cast("Stage", stage)

    def _side_of(self, cluster: Any) -> str:
        """The side that a cluster is: the one that was handed in, or is live, or has its id."""
        same = [(name, side) for name, side in (("a", self.a), ("b", self.b)) if side and side.cluster_id == cluster.id]
        handed_in = [name for name, side in same if side.cluster is cluster]
        matches = handed_in or [name for name, side in same if side.is_live] or [name for name, _ in same]
        if len(matches) > 1:
            raise UsageError("both sides are of this cluster", hint="stage.add(diff.edits(rows, like='a')) says which.")
        if not matches:
            raise WrongCluster(f"cluster {cluster.id} is neither side: {self.a}; {self.b}")
        return matches[0]

    def _failing(self) -> pa.Array | bool:
        return pc.equal(self._table["state"], "unknown")

    def _error(self, row: dict[str, Any]) -> UsageError:
        return UsageError(f"{row['resource']} could not be compared: {row['note']}")

    def _title(self) -> str:
        """The number of rows that differ and how, the two sides, and the rows not shown."""
        by_state = Counter(self._whole["state"].to_pylist())
        differing = len(self.differing)
        apart = ", ".join(f"{by_state[state]:,} {word}" for state, word in _SAID_APART.items() if by_state[state])
        sides = [f"{name}: {printable(str(side))}" for name, side in (("a", self.a), ("b", self.b)) if side]
        lines = [differences_finding(by_state), *sides]
        lines += [f"besides, {apart}{'' if len(self) > differing else ' (not shown: --all)'}"] if apart else []
        if self.passed_over:
            lines.append(f"not compared, as only one side has read it: {', '.join(self.passed_over)}")
        if self.secrets:
            plural = "s" * (self.secrets != 1)
            lines.append(f"{self.secrets:,} secret{plural} per side cannot be read and were skipped")
        return "\n".join([*lines, *([f"diff {self.id}"] if differing else [])])

    def _content(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return [self._table] if len(self) else []


# --- from rows to edits that make one side like the other ---

ALL = "all"
_ROWS_HINT = "For example 1-3,7, or all."
_WHY = {
    "unknown": "it could not be read",
    "default": "it differs only by default",
    NATURE: "it differs between one cluster's brokers and another's",
    TEMPORARY: "Kafka's tools set it for a while, as copies are under way",
}


def _chosen(rows: object, diff_rows: Sequence[Row], like: str) -> list[int]:
    """The numbers of the chosen rows, each once, in order.

    Raises
    ------
    UsageError
        No number, or a row that is not there.
    """
    if isinstance(rows, str) and rows == ALL:
        return [row["row"] for row in diff_rows if _refusal(row, like) is None]
    numbers: set[int] = set()
    for bounds in _ranges(rows):
        strange = [n for n in (bounds.start, bounds.stop - 1) if not 1 <= n <= len(diff_rows)]
        if strange:
            raise UsageError(f"no such row: {strange[0]}", hint=f"There are {len(diff_rows):,}, from 1.")
        numbers.update(bounds)
    if not numbers:
        raise UsageError("--rows is required", hint=_ROWS_HINT)
    return sorted(numbers)


def _ranges(rows: object) -> Iterator[range]:
    if isinstance(rows, str):
        yield from (_range(part.strip()) for part in rows.split(","))
        return
    try:
        numbers = [index(n) for n in (rows if isinstance(rows, Iterable) else [rows])]  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"{rows!r}: row numbers are required", hint=_ROWS_HINT) from None
    yield from (range(n, n + 1) for n in numbers)


_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


def _range(part: str) -> range:
    match = _RANGE.fullmatch(part)
    if match is None:
        raise UsageError(f"{quote(part)} is not the number of a row", hint=_ROWS_HINT)
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise UsageError(f"{part} ends before it begins", hint=_ROWS_HINT)
    return range(first, last + 1)


def _edits(diff_rows: Sequence[Row], numbers: Iterable[int], like: str, named: str) -> list[Edit]:
    """The edits that make these rows like that side; each edit notes its row, and the diff, `named`, that it is of.

    Raises
    ------
    UsageError
        A row that cannot be staged.
    """
    rows = [diff_rows[number - 1] for number in numbers]
    for row in rows:
        if why := _refusal(row, like):
            key = f" {row['key']}" if row["key"] is not None else ""
            raise UsageError(f"row {row['row']}, {row['resource']}{key}, cannot be staged: {why}", hint=_hint(row))
    return [_edit(row, like, f"row {row['row']} of diff {named}") for row in rows]


def _hint(row: Row) -> str | Hint:
    if row["resource"] == ANY_BROKER:
        return "Set it where it belongs: broker=<default>, or a broker by its number."
    return Hint(sentence("Choose others: {}.", Option("rows", "1-3,7")))


def _refusal(row: Row, like: str) -> str | None:
    """The reason why a row cannot be staged, None where it can."""
    if row["state"] in _WHY:
        return _WHY[row["state"]]
    if row["is_sensitive"]:
        return "it is a secret, which cannot be read"
    if row["kind"] == CREDENTIALS.kind:
        return "scram set and scram delete alone change it, as brokers show no secret"
    if row["missing"] == _other(like):
        return "no such topic"
    if row["resource"] == ANY_BROKER:
        return "it is the common value of all brokers of a cluster"
    try:
        op = _op(row, like)
    except KadminError as exc:
        return str(exc)
    return "it is set in the broker's server.properties" if op is None else None


def _edit(row: Row, like: str, note: str) -> Edit:
    op = _op(row, like)
    resource = parsed(row["kind"], row["resource"])
    return Edit(str(op), resource, row["key"], row[like] if op == SET else None, note)


def _op(row: Row, like: str) -> str | None:
    """Set what that side has; take away what it has not, or only from below; None where nothing can be taken away."""
    own_source = parsed(row["kind"], row["resource"]).source
    from_below = row[like] is None or (row["state"] == "source" and row[f"source_{like}"] != own_source)
    if not from_below:
        return SET
    return DELETE if row[f"source_{_other(like)}"] in (own_source, None) else None


def _other(side: str) -> str:
    return "b" if side == "a" else "a"
