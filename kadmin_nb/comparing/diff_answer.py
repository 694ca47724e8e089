"""Diff: the answer of a comparison, counts first; chosen rows of it can be staged."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError, WrongCluster, printable
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.pages import NOTEBOOK, Page
from ..frames.views import DIFFERENCES, differences_finding
from .sides import Side
from .staging import chosen, edits

if TYPE_CHECKING:
    from ..frames.blocks import Block
    from ..model.changes import Edit
    from ..plans.stage import Stage

NATURE = "nature"
APART = ("default", NATURE)
"""The states that count for no difference."""

_SAID_APART = {"default": "only by default", NATURE: "by nature"}


class Diff(Answer):
    """DIFF: what differs from `a` to `b`, a row a resource and key. Its display leads with counts.

    `only_by_default` and `by_nature` have what counts for no difference; they are among the rows only where
    everything was asked for. `counts` is DIFF_COUNTS. `id` is the same for the same differences. `passed_over` are the
    scopes that one side says nothing of; `secrets` counts those that both have, which are not compared.
    """

    is_frame = False

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
        """Keys that one side sets to the other's default, and pairs of defaults."""
        return Answer(self._of(["default"]))

    @property
    def by_nature(self) -> Answer:
        """Keys that identify a cluster's brokers: ids, listeners, folders."""
        return Answer(self._of([NATURE]))

    @property
    def differing(self) -> Answer:
        """All other rows."""
        return Answer(self._of(DIFFERENCES))

    def _of(self, states: Iterable[str]) -> pa.Table:
        return self._whole.filter(pc.is_in(self._whole["state"], pa.array(states, pa.string())))

    @property
    def counts(self) -> Answer:
        """DIFF_COUNTS: how many rows of each state there are, those not shown included."""
        counted = Counter(zip(*(self._whole[name].to_pylist() for name in ("state", "kind")), strict=True))
        rows = (
            {"state": s, "quotas": counted[s, "quota"], "configs": counted[s, "config"]} for s in (*DIFFERENCES, *APART)
        )
        return Answer(schemas.table(schemas.DIFF_COUNTS, (row for row in rows if row["quotas"] or row["configs"])))

    @property
    def id(self) -> str:
        """The value of `--of`: rows chosen by their numbers are those of this very answer."""
        rows = self.differing.to_arrow().to_pylist()
        return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:12]

    def edits(self, rows: object, like: str) -> list[Edit]:
        """The edits that make the chosen rows like side `a`, or `b`, in the other one.

        Parameters
        ----------
        rows
            Numbers of rows, a text such as `1-3,7`, or `all`: all that can be staged.

        Raises
        ------
        UsageError
            A row that is not there, or that cannot be staged: a secret, one that differs only by default or by
            nature, one that could not be read, one of the brokers in common or of their files.
        """
        if like not in ("a", "b"):
            raise UsageError(f"unknown side like={like!r}", hint="It is a or b.")
        told = self._whole.to_pylist()
        return edits(told, chosen(rows, told, like), like, self.id)

    def stage(self, onto: Any, rows: object) -> Stage:
        """Chosen rows, staged on a cluster so that it becomes like the other side. The plan is an ordinary one.

        Parameters
        ----------
        onto
            `a` or `b`, where that was given as a Cluster; or the Cluster.
        rows
            As of `edits`.

        Raises
        ------
        UsageError
            A row that cannot be staged, or a side that is not a Cluster.
        WrongCluster
            It is neither side.
        """
        side = self._side(onto)
        cluster = onto if not isinstance(onto, str) else self._named(side).cluster
        if cluster is None:
            raise UsageError(
                f"side {side}, {self._named(side).says}, was not handed in as a Cluster",
                hint="Pass one: onto=kn.connect(…).",
            )
        stage = cluster.stage()
        stage.add(self.edits(rows, like="b" if side == "a" else "a"))
        return cast("Stage", stage)

    def _named(self, side: str) -> Side:
        side_named = self.a if side == "a" else self.b
        if side_named is None:
            raise UsageError("a part of a comparison stages nothing", hint="Stage on the whole, with rows=….")
        return side_named

    def _side(self, onto: Any) -> str:
        """The side that a cluster is: the one that was handed in, or is live, or has its id."""
        if isinstance(onto, str):
            if onto.lower() not in ("a", "b"):
                raise UsageError(f"unknown side onto={onto!r}", hint="It is a, b, or a Cluster.")
            return onto.lower()
        matches = self._sides_of(onto)
        if len(matches) > 1:
            raise UsageError("both sides are of this cluster", hint="stage.add(diff.edits(rows, like='a')) says which.")
        if not matches:
            raise WrongCluster(f"cluster {onto.id} is neither side: {self.a}; {self.b}")
        return matches[0]

    def _sides_of(self, cluster: Any) -> list[str]:
        """The sides with its id; where both have it, the one that was handed in, or is live."""
        sides = {name: self._named(name) for name in ("a", "b")}
        same = [name for name in sides if sides[name].cluster_id == cluster.id]
        handed_in = [name for name in same if sides[name].cluster is cluster]
        return handed_in or [name for name in same if sides[name].is_live] or same

    def _failing(self) -> pa.Array | bool:
        return pc.equal(self._table["state"], "unknown")

    def _error(self, row: dict[str, Any]) -> UsageError:
        return UsageError(f"{row['resource']} could not be compared: {row['note']}")

    def title(self) -> str:
        """The number of rows that differ and how, the two sides, and the rows not shown."""
        by_state = self._by_state()
        differing = len(self.differing)
        apart = ", ".join(f"{by_state[state]:,} {word}" for state, word in _SAID_APART.items() if state in by_state)
        sides = [f"{name}: {printable(str(side))}" for name, side in (("a", self.a), ("b", self.b)) if side]
        lines = [self.short_form(), *sides]
        lines += [f"besides, {apart}{'' if len(self) > differing else ' (not shown: --all)'}"] if apart else []
        lines += [*self._not_compared()]
        return "\n".join([*lines, *([f"diff {self.id}"] if differing else [])])

    def short_form(self) -> str:
        """Counts of the rows that differ, by how they do."""
        return differences_finding(self._by_state())

    def _by_state(self) -> dict[str, int]:
        return {row["state"]: row["quotas"] + row["configs"] for row in self.counts.to_arrow().to_pylist()}

    def _not_compared(self) -> Iterator[str]:
        if self.passed_over:
            yield f"not compared, as one side says nothing of it: {', '.join(self.passed_over)}"
        if self.secrets:
            yield f"not compared, as nobody can see them: {self.secrets:,} secret{'s' * (self.secrets != 1)} on both"

    def table(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        return [self._table] if len(self) else []
