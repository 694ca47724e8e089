"""The journal of a plan: what was intended and what came of it, in a chain of hashes that names an edited line.

Every line is `{"hash":H,"record":R}` where H is the SHA-256 of the hash before it and the text of R; the first
follows `START`. A line is on the disk (fsync) before what it announces is done. A process that dies while writing
leaves a torn last line: the next one to write leaves it as it is, and says so in a record that follows the last good
one. The chain proves that what was written has not been edited in the middle or cut short of a head that somebody
kept elsewhere; it proves nothing to someone who may have written the whole file anew.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from msgspec import Struct

from ... import documents
from ...errors import Invalid, NotFound, printable
from .storage import END, TORN_END, AppendedFile, FolderOfRecords, opened, stored_at, unwritable

START = "0" * 64
TORN = "torn"
_LINE = re.compile(r'\{"hash":"([0-9a-f]{64})","record":(.*)\}\n?', re.DOTALL)


class Says(Struct):
    """What records of any kind say, each some of it.

    `rows` are about to be sent, were answered, or were seen; `values` has those of rows on their way, `refused` what
    brokers answered, by number; `landed` are rows whose answer was lost, and which were seen; `states` are those with
    which a run ended; `by` is the plan that rolls this one back.
    """

    kind: str
    plan: dict[str, Any] = {}
    batch: int = 0
    at: datetime = datetime.fromtimestamp(0, UTC)
    run: int = 0
    allowed: list[str] = []
    rows: str = ""
    values: dict[str, str] = {}
    refused: dict[str, str] = {}
    landed: str = ""
    states: dict[str, str] = {}
    by: str = ""


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """One line: its number from 1, its kind and what it says, as it is written and as it is read."""

    line: int
    kind: str
    says: dict[str, Any]
    read: Says


@dataclass
class Chain:
    """The content of a journal: the records that the chain proves, its head, and the lines torn at the end."""

    records: list[JournalRecord] = field(default_factory=list)
    head: str = START
    torn: list[int] = field(default_factory=list)


class Journal:
    """The journal of one plan, open for writing; file locks, if any, keep other processes out."""

    def __init__(self, lines: AppendedFile | FolderOfRecords, chain: Chain) -> None:
        self._lines = lines
        self.head = chain.head
        self.place = lines.place
        self.is_locked = lines.is_locked
        self.before = chain.records
        """The records that were there when it was opened."""

    @classmethod
    def open(cls, place: Path) -> Self:
        """Open the journal at `place`, made if it does not exist.

        Raises
        ------
        Locked, PlanRefused
            Another process has it open; nothing can be written there (`JOURNAL`).
        Invalid
            A line of it was edited.
        """
        lines = opened(place)
        try:
            chain = _chain(lines.texts(), place)
            journal = cls(lines, chain)
            if chain.torn:
                journal.append(documents.to_json({"kind": TORN, "lines": chain.torn}), after_torn=True)
        except BaseException:
            lines.close()
            raise
        return journal

    def write(self, kind: str, **says: Any) -> None:
        """Append a record; when this returns, it is on the disk.

        Raises
        ------
        Locked, PlanRefused
            Another process, which no lock keeps out, has written to it. It cannot be written (`JOURNAL`): a part of it
            may be on the disk; nothing may be written after it here.
        """
        self.append(documents.to_json({"kind": kind, **says}))

    def append(self, text: str, *, after_torn: bool = False) -> None:
        """Append a record that is canonical JSON already."""
        head = documents.digest(self.head, text)
        try:
            self._lines.append(f'{{"hash":"{head}","record":{text}}}', after_torn=after_torn)
        except OSError as exc:
            raise unwritable(self.place, exc, is_begun=bool(self.before)) from None
        self.head = head

    @property
    def is_written(self) -> bool:
        """True if it has any record: without one it has no file."""
        return self.head != START

    def close(self) -> None:
        """Let others open it."""
        self._lines.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_records(place: Path) -> Chain:
    """Read the journal at `place`, each line proven by the chain; torn lines are passed over.

    Raises
    ------
    NotFound
        No journal there.
    Invalid
        A line was edited, taken out or put in: the first that does not fit is named.
    """
    texts = stored_at(place)
    if texts is None:
        raise NotFound(f"no such journal: {place}")
    return _chain(texts, place)


def _chain(texts: list[str], place: Path) -> Chain:
    chain = Chain()
    for number, text in enumerate(texts, 1):
        line = _LINE.fullmatch(text) if text.isascii() else None  # another byte was edited, or torn
        if line is None or documents.digest(chain.head, line[2]) != line[1]:
            chain.torn.append(number)
            continue
        record = _record(number, line[2])
        if chain.torn and (record.kind, record.says.get("lines")) != (TORN, chain.torn):
            raise _edited(chain.torn[0], place)
        chain.records.append(record)
        chain.head, chain.torn = line[1], []
    if chain.torn and texts[-1].endswith(END) and not texts[-1].endswith(TORN_END):
        raise _edited(chain.torn[0], place)
    return chain


def _record(number: int, text: str) -> JournalRecord:
    try:
        says = json.loads(text)
        read = documents.as_type(says, Says)
        return JournalRecord(number, says.pop("kind"), says, read)
    except (ValueError, RecursionError) as exc:
        raise malformed(number, str(exc)) from None


def malformed(line: int, why: str = "") -> Invalid:
    """The error of a line with the right hash that kadmin_nb does not write: the whole file is another's."""
    text = f"line {line} of the journal is not a record of kadmin_nb"
    return Invalid(printable(": ".join(filter(None, [text, why])))[:500], code="JOURNAL")


def _edited(line: int, place: Path) -> Invalid:
    return Invalid(
        f"line {line} of the journal {place} was edited: the chain breaks there",
        code="JOURNAL",
        hint="Nothing after it can be trusted. Compare with a copy, or plan again.",
    )
