"""The journals of this machine: one a plan, in a folder for each cluster."""

from __future__ import annotations

import contextlib
import json
import os
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from pathlib import Path
from urllib.parse import quote, unquote

import pyarrow as pa

from ... import documents
from ...errors import Invalid, KadminError, NotFound, UsageError
from ...frames import schemas
from ...frames.schemas import stamped
from ...hints import Hint, Verb, sentence
from ...model.changes import UNKNOWN, UNVERIFIED, AppliedRow, Change, Target
from ...paths import journal_dir
from .. import SHORTEST_ID
from ..formats import in_words
from ..plan import Plan, changes_at_hand, read_plan
from . import Chain, Journal, JournalRecord, malformed, read_records, replay
from .storage import FOLDER, folder_of, stored_at

_SUFFIX = ".jsonl"
_CLOCKS_DIFFER = 86_400.0
"""Seconds that the clock of a file system may be behind ours: a journal that is older than this is not read."""


@dataclass(frozen=True)
class StoredJournal:
    """A journal that exists, proven by its chain."""

    place: Path
    chain: Chain

    @cached_property
    def plan(self) -> Plan:
        """The plan that it is about.

        Raises
        ------
        Invalid
            Its first record holds none.
        """
        first = next((r for r in self.chain.records if r.kind == replay.PLAN and "plan" in r.says), None)
        if first is None:
            raise Invalid(
                f"the journal {self.place} holds no plan: it ended before anything was sent",
                code="JOURNAL",
                hint=Hint(sentence("{} starts it.", Verb("plan apply FILE", "cluster.apply(plan)"))),
            )
        try:
            text = documents.texts_to_json(first.says["plan"])
        except (ValueError, RecursionError):
            raise malformed(first.line) from None
        return read_plan(text, str(self.place), changes_at_hand)

    @cached_property
    def state(self) -> replay.JournalState:
        """The state of the rows."""
        return replay.replayed(self.chain.records)

    def to_arrow(self) -> pa.Table:
        """JOURNAL; the chain's head and the torn lines are in the metadata."""
        cluster_id = self.plan.cluster_id  # first: the shape of its record is checked
        table = schemas.table(schemas.JOURNAL, (_record_row(record) for record in self.chain.records))
        marks = {"kadmin.chain_head": self.chain.head, "kadmin.torn_lines": json.dumps(self.chain.torn)}
        return stamped(table, cluster_id, marks)


class Journals:
    """The folder with all of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self, plan: Plan) -> Journal:
        """The journal of this plan, open for writing."""
        return Journal.open(self._place(plan.cluster_id, plan.id))

    def of(self, plan: Plan) -> StoredJournal | None:
        """The journal of this plan; None without one."""
        try:
            return self._kept(self._place(plan.cluster_id, plan.id))
        except NotFound:
            return None

    def find(self, plan_id: str) -> StoredJournal:
        """The journal of the plan whose id begins like this.

        Raises
        ------
        UsageError, NotFound
            Fewer than six characters, or several plans that begin so; none.
        """
        if len(plan_id) < SHORTEST_ID:
            raise UsageError(f"{plan_id} is too short for a plan's id", hint=f"At least {SHORTEST_ID} characters.")
        places = [place for place in self._places() if place.name.startswith(plan_id)]
        if len(places) > 1:
            raise UsageError(f"several plans begin with {plan_id}", hint="Write more of the id.")
        if not places:
            raise NotFound(
                f"no journal of a plan {plan_id} in {self.folder}",
                hint=Hint(sentence("{} lists them.", Verb("plan log", "cluster.plans.log()"))),
            )
        return self._kept(places[0])

    def to_arrow(self, cluster_id: str | None = None) -> pa.Table:
        """PLANS, the oldest first, of this cluster or of all; a broken journal is a row with the error."""
        folders = [folder for folder in self._folders() if cluster_id in (None, _cluster_id(folder))]
        rows = [self._summary(place) for folder in folders for place in _places(folder)]
        return schemas.table(schemas.PLANS, sorted(rows, key=lambda row: str(row["created"])))

    def sent_lately(self, cluster_id: str, since: float, targets: Collection[Target], but: str) -> replay.SentRows:
        """The changes of these targets that plans for this cluster have sent and not every broker was seen to show.

        By journals written since a time, in seconds since 1970, but for that of one plan.
        """
        sent: defaultdict[Target, list[Change]] = defaultdict(list)
        wanted = {*targets}
        for place in _places(self.folder / quote(cluster_id, safe="")) if wanted else ():
            with contextlib.suppress(KadminError, OSError):
                written = _stat_of(place)
                is_over = written.st_mtime < since or _ended_well(place, written.st_mtime_ns, written.st_size)
                journal = None if is_over or place.name.startswith(but) else self._kept(place)
                rows = journal.state.unsettled if journal else ()
                for change in journal.plan.changes if journal and rows else ():
                    # a value that was the same before, or hidden, shows nothing of it
                    is_visible = change.old_known and change.old != change.after
                    if change.row in rows and change.target in wanted and is_visible:
                        sent[change.target].append(change)
        return sent

    def applied(self, cluster_id: str, since: datetime) -> list[AppliedRow]:
        """The rows that plans at work since a time have changed on this cluster, in the order of time.

        Refused rows are not there, nor those that nothing was sent for. A journal that cannot be read has none.
        """
        rows: list[AppliedRow] = []
        for place in _places(self.folder / quote(cluster_id, safe="")):
            with contextlib.suppress(KadminError, OSError):
                if _stat_of(place).st_mtime >= since.timestamp() - _CLOCKS_DIFFER:
                    rows += _applied_rows(self._kept(place), since)
        return sorted(rows, key=lambda row: (row.began, row.ended))

    def _summary(self, place: Path) -> dict[str, object]:
        try:
            return _summary(self._kept(place))
        except KadminError as exc:
            plan_id, error = _text(place.name.removesuffix(_SUFFIX)), exc.code or "JOURNAL"
            why = {"error": error, "message": str(exc), "created": None}
            return {"plan_id": plan_id, "cluster_id": _cluster_id(place.parent), **why}

    def _kept(self, place: Path) -> StoredJournal:
        return StoredJournal(place, read_records(place))

    def _place(self, cluster_id: str, plan_id: str) -> Path:
        return self.folder / quote(cluster_id, safe="") / f"{plan_id}{_SUFFIX}"

    def _folders(self) -> list[Path]:
        """The folder of each cluster."""
        return [folder for folder in _entries(self.folder) if folder.is_dir()]

    def _places(self) -> Iterator[Path]:
        """Every journal in a folder that can be listed."""
        for folder in self._folders():
            with contextlib.suppress(Invalid):
                yield from _places(folder)


def _applied_rows(journal: StoredJournal, since: datetime) -> Iterator[AppliedRow]:
    """The rows that this journal's plan has changed since then, once for each time that it did."""
    plan, state = journal.plan, journal.state
    for change in plan.changes:
        for began, ended in state.times.get(change.row, ()):
            until = ended or state.written or began
            if until > since:
                yield AppliedRow(plan.id, plan.head.author, change, began, until)


def _stat_of(place: Path) -> os.stat_result:
    """The state of a journal's file, or of the folder that replaces it."""
    folder = folder_of(place)
    return (folder if folder.is_dir() else place).stat()


@lru_cache(maxsize=4096)
def _ended_well(place: Path, written: int, size: int) -> bool:
    """True if the last run of a journal that was written then ended with no row left to be seen."""
    lines = (line for line in reversed(stored_at(place) or []) if f'"kind":"{replay.UNDONE}"' not in line)
    last = next(lines, "")
    return f'"{replay.END}"' in last and f'"{UNVERIFIED}"' not in last and f'"{UNKNOWN}"' not in last


def _places(folder: Path) -> list[Path]:
    """Every journal of a cluster by the name of its file, even where a folder replaces that."""
    files = {place.with_name(place.name.removesuffix(FOLDER)) for place in _entries(folder)}
    return sorted(place for place in files if place.name.endswith(_SUFFIX))


def _entries(folder: Path) -> list[Path]:
    """The paths in a folder; none without the folder.

    Raises
    ------
    Invalid
        It cannot be listed.
    """
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as exc:
        raise Invalid(f"the folder of journals {folder} cannot be listed: {exc.strerror}", code="JOURNAL") from None


def _cluster_id(folder: Path) -> str:
    """The cluster whose journals are in this folder."""
    return unquote(_text(folder.name))


def _text(name: str) -> str:
    """The name of a file; bytes of it that are not UTF-8 as escapes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _record_row(record: JournalRecord) -> dict[str, object]:
    says = dict(record.says)
    columns = {name: says.pop(name, None) for name in ("at", "run", "batch", "rows")}
    details = {"id": says["plan"].get("id")} if "plan" in says else says
    return {
        "line": record.line,
        "kind": record.kind,
        **columns,
        "details": documents.to_json(details) if details else None,
    }


def _summary(journal: StoredJournal) -> dict[str, object]:
    plan, state = journal.plan, journal.state
    effective = [change for change in plan.changes if not change.is_done]
    return {
        "plan_id": plan.id,
        "cluster_id": plan.cluster_id,
        "created": plan.head.created,
        "author": plan.head.author,
        "what": in_words(effective),
        "changes": len(effective),
        "runs": state.runs,
        "verified": len(state.verified),
        "in_doubt": len(state.in_doubt),
        "reason": plan.reason,
    }


def journals() -> Journals:
    """The journals of this machine: `$KADMIN_STATE/journal`."""
    return Journals(journal_dir())


# --- plans by what people call them ---

_HEX = frozenset("0123456789abcdef")


def is_id(text: str) -> bool:
    """True of an id, or the beginning of one; a file of that name comes first."""
    return set(text) <= _HEX and not Path(text).exists()


def plan_named(plan_or_id: str) -> Plan:
    """The plan of this file, or of this id."""
    return journals().find(plan_or_id).plan if is_id(plan_or_id) else Plan.load(plan_or_id)


def journal_named(plan_or_id: str) -> StoredJournal:
    """The journal of the plan of this file, or of this id."""
    return journals().find(plan_or_id if is_id(plan_or_id) else Plan.load(plan_or_id).id)
