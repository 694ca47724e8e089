"""MetadataLog: what was changed on a cluster, out of KRaft's own segments and checkpoints, without a broker."""

from __future__ import annotations

import os
import re
import struct
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from .. import files
from ..errors import Invalid, NotFound, UsageError, WrongCluster
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.blocks import NOTEBOOK, Page
from ..frames.schema_metadata import CLUSTER_ID, KNOWN_SINCE, mark, stamped
from . import records
from .batches import LAST_MOMENT, Damage, Record, records_of
from .records import MetadataChange

if TYPE_CHECKING:
    from ..frames.blocks import Block

FOLDER = "__cluster_metadata-0"
_SEGMENT = re.compile(r"(\d{20})\.log")
_CHECKPOINT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_CLUSTER_ID = re.compile(r"^cluster\.id=(.*)$", re.MULTILINE)
LOG, CHECKPOINT = "log", "checkpoint"
"""The sources of a row: a record of a change, or what a checkpoint held."""

_LARGEST_FILE, _LARGEST_PROPERTIES = 2 << 30, 1 << 20
"""Bytes; Kafka itself lets no segment grow further."""

_MOST_UNDECIDED = 1_000_000
"""Changes of one metadata transaction."""

_ROWS = 1 << 16
"""Rows that are collected before they become Arrow."""

_HEADER, _FOOTER = 3, 4
_CONTROL_KEY, _LAST_TIME = struct.Struct(">hh"), struct.Struct(">hq")
_SHOWN = 5


class MetadataLog(Answer):
    """METADATA_CHANGES of a metadata log.

    `warnings` say what of it could not be read; `records` is how many records were, those about something else
    included. `cluster_id` is None where no meta.properties stands beside it and nobody said.
    """

    def __init__(self, table: pa.Table, records: int = 0, warnings: Sequence[str] = ()) -> None:
        super().__init__(table)
        self.records, self.warnings = records, tuple(warnings)

    @property
    def cluster_id(self) -> str | None:
        """The cluster that it is of."""
        return mark(self._table, CLUSTER_ID)

    def _title(self) -> str:
        whose = "" if self.cluster_id is None else f" of cluster {self.cluster_id}"
        counts = pc.value_counts(self._table["kind"]).to_pylist()
        told = ", ".join(f"{each['counts']:,} of {_NOUNS[each['values']]}" for each in counts)
        return f"{self.records:,} records{whose}; changes: {told or 'none'}"

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        yield from self.warnings[:_SHOWN]
        if len(self.warnings) > _SHOWN:
            yield f"{len(self.warnings) - _SHOWN:,} more warnings: log.warnings has them."


_NOUNS = {records.QUOTA: "quotas", records.CONFIG: "configs", records.TOPIC: "topics", records.SCRAM: "SCRAM users"}


def metadata_log(folder: str | os.PathLike[str], *, cluster_id: str | None = None) -> MetadataLog:
    """METADATA_CHANGES: changes of quotas, configs and credentials, and which topics were created and deleted.

    They are read from KRaft's own files, in this process, and without Kafka: a copy of a controller's or broker's
    folder will do. No secret is read. A record counts that is written: of the last seconds of a log that a controller
    is still writing nobody can tell if the others will agree.

    Parameters
    ----------
    folder
        `metadata.log.dir`, `log.dirs`, or the `__cluster_metadata-0` in it.
    cluster_id
        The cluster that it must belong to; required if there is no meta.properties beside it.

    Returns
    -------
    MetadataLog
        Changes in order. If the beginning of the log was deleted, the contents of the checkpoint come first. A change
        within a metadata transaction counts if the transaction has ended, at that time.

    Raises
    ------
    NotFound
        There is no metadata log.
    WrongCluster
        It belongs to another cluster.
    UsageError, Invalid
        A file that cannot be read; a transaction of more than a million changes.

    Examples
    --------
    >>> log = kn.metadata_log("/var/lib/kafka/data")  # doctest: +SKIP
    >>> [row for row in log if row["resource"] == "user=alice"]  # doctest: +SKIP
    """
    place = _place(files.expanded(folder))
    whose = _cluster_of(place)
    if None not in (whose, cluster_id) and whose != cluster_id:
        raise WrongCluster(f"{place} is of cluster {whose}, not of {cluster_id}", code="INCONSISTENT_CLUSTER_ID")
    reading = _Reading(place)
    reading.read()
    table, whose = reading.table(), whose or cluster_id
    told = schemas.marked(table, reading.marks) if whose is None else stamped(table, whose, reading.marks)
    return MetadataLog(told, reading.count, reading.warnings)


def _place(folder: Path) -> Path:
    place = folder / FOLDER if (folder / FOLDER).is_dir() else folder
    if not (_named(place, _SEGMENT) or _named(place, _CHECKPOINT)):
        raise NotFound(
            f"no metadata log in {folder}", hint=f"For example the folder of metadata.log.dir, with {FOLDER} in it."
        )
    return place


def _named(place: Path, pattern: re.Pattern[str]) -> list[tuple[re.Match[str], Path]]:
    """The files of such a name, sorted."""
    try:
        names = sorted(os.listdir(place))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise UsageError(f"{place} cannot be read: {error.strerror}") from None
    return [(match, place / name) for name in names if (match := pattern.fullmatch(name))]


def _cluster_of(place: Path) -> str | None:
    """The cluster's id in the meta.properties beside the log."""
    beside = next((file for file in (place / _META, place.parent / _META) if file.is_file()), None)
    if beside is None:
        return None
    text = files.read(beside, "a meta.properties", _LARGEST_PROPERTIES).decode(errors="replace")
    match = _CLUSTER_ID.search(text)
    return match[1].strip() if match else None


_META = "meta.properties"


class _Checkpoint(NamedTuple):
    offset: int
    epoch: int
    path: Path


class _Reading:
    """One pass over the files of a log, in the order of their offsets."""

    def __init__(self, place: Path) -> None:
        self._segments = [(int(match[1]), path) for match, path in _named(place, _SEGMENT)]
        checkpoints = _named(place, _CHECKPOINT)
        self._checkpoints = deque(_Checkpoint(int(match[1]), int(match[2]), path) for match, path in checkpoints)
        self.count, self.warnings = 0, list[str]()
        self._rows: list[tuple[object, ...]] = []
        self._batches: list[pa.RecordBatch] = []
        self._undecided: list[tuple[Record, MetadataChange]] | None = None
        self._aborted, self._unread = 0, Counter[str]()
        self._topics: dict[str, str] = {}
        self._next_offset: int | None = None
        """The offset that is due; None where some were lost, or nothing was read yet."""
        self._has_lost = bool(self._segments) and self._segments[0][0] > 0
        self._is_in_doubt, self._in_doubt_from = False, 0
        """Whether records are missing, so that a checkpoint has to tell what was set, and the first one behind them."""
        self._known_since: int | None = None

    def read(self) -> None:
        """Read all of it."""
        if not self._segments:
            self._read_checkpoint(self._checkpoints[-1])
        for offset, path in self._segments:
            self._read_segment(offset, path)
        if self._segments:
            self._take_checkpoint(None)
        self._warn_at_the_end()

    def table(self) -> pa.Table:
        """METADATA_CHANGES."""
        self._flush()
        return pa.Table.from_batches(self._batches, schemas.METADATA_CHANGES.schema)

    @property
    def marks(self) -> dict[str, str]:
        """The time since which all that was set is known, if it is."""
        if self._known_since is None:
            return {}
        return {KNOWN_SINCE: datetime.fromtimestamp(self._known_since / 1000, UTC).isoformat()}

    def _read_segment(self, offset: int, path: Path) -> None:
        if self._next_offset not in (None, offset):
            self.warnings.append(f"{path.name} does not follow: the offsets from {self._next_offset:,} on are missing.")
            self._lose()
        for batch in records_of(files.read(path, "a segment of a metadata log", _LARGEST_FILE), offset):
            if isinstance(batch, Damage):
                self.warnings.append(f"{path.name}: {batch}.")
                self._lose()
            elif batch:
                if self._next_offset is None:
                    self._go_on(batch[0])
                self._take_checkpoint(batch[0].offset)
                self._take(batch, LOG)
                self._next_offset = batch[-1].offset + 1

    def _lose(self) -> None:
        """Note that records are missing. At the end of a log they are in no one's way."""
        self._next_offset, self._has_lost = None, True

    def _go_on(self, record: Record) -> None:
        """The first record of all, or the first behind those that are missing."""
        if self._has_lost:
            self._is_in_doubt, self._in_doubt_from, self._known_since = True, record.offset, None
        else:
            self._known_since = record.time

    def _take(self, batch: Sequence[Record], source: str) -> None:
        """The changes of a batch, as far as their transactions are decided."""
        for record in batch:
            if record.is_control:
                continue
            self.count += 1
            try:
                kind, version, position = records.type_of(record.value)
                if kind in records.NO_CHANGES:
                    continue
                if version == 0 and kind in records.READERS:
                    self._add(record, records.change_of(kind, record.value, position), source)
                elif version == 0 and kind in records.MARKS:
                    self._decide(kind, record)
                else:
                    self._unread[f"of type {kind}, version {version}"] += 1
            except (ValueError, IndexError, struct.error):
                self._unread["that do not fit their type"] += 1

    def _add(self, record: Record, change: MetadataChange, source: str) -> None:
        if self._undecided is None or source == CHECKPOINT:
            self._count_in(record, record.time, change, source)
        elif len(self._undecided) < _MOST_UNDECIDED:
            self._undecided.append((record, change))
        else:
            raise Invalid(f"the metadata transaction at offset {record.offset:,} has over {_MOST_UNDECIDED:,} changes")

    def _decide(self, kind: int, mark: Record) -> None:
        """Begin a transaction, or let its changes count, all of them or none."""
        undecided, self._undecided = self._undecided or [], [] if kind == records.BEGIN else None
        if kind == records.END:
            for record, change in undecided:
                self._count_in(record, mark.time, change, LOG)
        else:
            self._aborted += len(undecided)

    def _count_in(self, record: Record, time: int, change: MetadataChange, source: str) -> None:
        if change.kind == records.TOPIC:
            change = self._with_name(change)
        self._rows.append((record.offset, time * 1000, record.epoch, source, *change))
        if len(self._rows) >= _ROWS:
            self._flush()

    def _with_name(self, change: MetadataChange) -> MetadataChange:
        """The deletion of a topic names it by its id alone."""
        topic_id = str(change.value)
        if change.op == records.CREATE:
            self._topics[topic_id] = change.resource
            return change
        return change._replace(resource=self._topics.pop(topic_id, f"topic-id={topic_id}"))

    def _flush(self) -> None:
        schema = schemas.METADATA_CHANGES.schema
        columns = zip(*self._rows, strict=True) if self._rows else [()] * len(schema)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        self._batches.append(pa.record_batch(arrays, schema))
        self._rows.clear()

    # -- checkpoints

    def _take_checkpoint(self, before: int | None) -> None:
        """The state of a checkpoint, of those that end before an offset, if records before it are missing."""
        while self._checkpoints and (before is None or self._checkpoints[0].offset <= before):
            checkpoint = self._checkpoints.popleft()
            if self._is_in_doubt and checkpoint.offset >= self._in_doubt_from:
                self._read_checkpoint(checkpoint)

    def _read_checkpoint(self, checkpoint: _Checkpoint) -> None:
        """Take all that it holds, or nothing if it is not whole."""
        held, time, mark = list[Record](), -1, None
        try:
            for batch in records_of(files.read(checkpoint.path, "a checkpoint", _LARGEST_FILE), 0):
                if isinstance(batch, Damage):
                    self.warnings.append(f"{checkpoint.path.name}: {batch}; the whole checkpoint is skipped.")
                    return
                for record in batch:
                    mark = _CONTROL_KEY.unpack_from(record.key)[1] if record.is_control else None
                    time = _LAST_TIME.unpack_from(record.value)[1] if mark == _HEADER else time
                    held.append(record)
        except struct.error:
            mark = None
        if mark != _FOOTER or not 0 <= time < LAST_MOMENT:
            self.warnings.append(f"{checkpoint.path.name} is not whole, and is skipped.")
            return
        self._has_lost, self._is_in_doubt, self._known_since = False, False, time
        last, epoch = checkpoint.offset - 1, checkpoint.epoch
        self._take([record._replace(offset=last, time=time, epoch=epoch) for record in held], CHECKPOINT)

    # -- warnings

    def _warn_at_the_end(self) -> None:
        if self._is_in_doubt:
            self.warnings.append(
                f"No checkpoint shows what was set before offset {self._in_doubt_from:,}: only later changes are there."
            )
        self.warnings += [f"{count:,} records {kind} were skipped." for kind, count in self._unread.items()]
        if self._aborted:
            self.warnings.append(f"{self._aborted:,} changes of metadata transactions that were aborted do not count.")
        if self._undecided:
            self.warnings.append(
                f"{len(self._undecided):,} changes of a metadata transaction that has not ended do not count."
            )
