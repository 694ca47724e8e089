"""A history at a path: a Delta table through delta-rs, without a JVM."""

from __future__ import annotations

import os
import random
import re
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from .. import files
from ..errors import Invalid, KadminError, TimedOut, Unsupported, UsageError
from ..frames import schemas
from ..frames.snapshot_kinds import KINDS
from .addresses import check_credentials, folder_of
from .stored_rows import PARTITIONS, STATES, STATISTICS, TABLE, State, refuse_other_table, state_rows, states

if TYPE_CHECKING:
    from deltalake import DeltaTable

TRIES = 10
"""Times that a commit is tried again in which others were faster; delta-rs itself tries some times each."""

_STEP = timedelta(milliseconds=1)
"""Delta's statistics cut times down to milliseconds."""

_WITHOUT_COMMENTS = pa.schema([field.remove_metadata() for field in TABLE])
"""The columns of rows that are added: a table that was made by another version has other comments."""

_SHORT = 32
"""Texts from this length on may be cut in Delta's statistics."""


class DeltaFolder:
    """A `Place`. What belongs to a snapshot is added in one commit, so that it is there wholly or not."""

    def __init__(self, where: str) -> None:
        self.where = where
        self._folder = folder_of(where)
        self._address = self._folder.as_uri() if self._folder else where
        self._open: DeltaTable | None = None
        _library()

    def clusters(self) -> set[str]:
        """From the log's statistics, which say it of every file that a record wrote."""
        table = self._table()
        if table is None:
            return set()
        files = _files(table)
        names = {f[edge] for f in files for edge in ("min.cluster_id", "max.cluster_id")}
        if all(f["min.cluster_id"] == f["max.cluster_id"] is not None for f in files) and all(
            len(name) < _SHORT for name in names
        ):
            return names
        return {state.cluster_id for state in self.states()}

    def newest(self, cluster_id: str, until: datetime | None) -> list[State]:
        """Files are passed over by their statistics: of a thousand snapshots one small file is read."""
        table = self._table()
        if table is None:
            return []
        fits = [f for f in _files(table) if _may_hold(f, cluster_id, until)]
        frames = {name for name in KINDS if any(f["min.frame"] <= name <= f["max.frame"] for f in fits)}
        lasts = [max(f["min.taken_at"] for f in fits if f["min.frame"] <= name <= f["max.frame"]) for name in frames]
        candidates = _states(table, cluster_id, until, min(lasts)) if lasts else []
        return candidates if {state.frame for state in candidates} == frames else _states(table, cluster_id, until)

    def states(self, cluster_id: str | None = None, until: datetime | None = None) -> list[State]:
        table = self._table()
        return [] if table is None else _states(table, cluster_id, until)

    def rows(self, kind: str, parts: Sequence[str]) -> pa.Table:
        table = self._table()
        if table is None or not parts:
            return TABLE.empty_table()
        return _read_rows(table, [("kind", "=", kind), ("part", "in", list(parts))])

    def append(self, states: Sequence[State], contents: Sequence[pa.Table]) -> None:
        """Add rows, in one commit.

        Raises
        ------
        TimedOut
            Others were faster every time; nothing was added.
        Invalid
            It cannot be written.
        """
        from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

        rows = pa.concat_tables([state_rows(list(states)), *contents]).cast(_WITHOUT_COMMENTS)
        for wait in range(TRIES):
            try:
                return self._write(rows)
            except (CommitFailedError, TableNotFoundError):  # a table that another is about to make is not there yet
                if self._folder:
                    _refuse_unwritable(self._folder)
                time.sleep(random.uniform(0, 0.05 * 2 ** min(wait, 6)))
            except (DeltaError, OSError) as exc:
                raise Invalid(f"{self.where} cannot be written: {_cause(exc)}", hint="Nothing was recorded.") from None
        raise TimedOut(f"{self.where}: others recorded at the same time, {TRIES} times over", hint="Record it again.")

    def _write(self, rows: pa.Table) -> None:
        from deltalake import ColumnProperties, WriterProperties, write_deltalake

        small = len(rows) <= 100  # most of a small file is what Parquet says of its columns
        counted = ColumnProperties(dictionary_enabled=not small, statistics_enabled="CHUNK")
        others = ColumnProperties(dictionary_enabled=not small, statistics_enabled="NONE")
        properties = WriterProperties(
            compression="ZSTD", default_column_properties=others, column_properties=dict.fromkeys(STATISTICS, counted)
        )
        write_deltalake(self._table() or self._made(), rows, mode="append", writer_properties=properties)

    def _made(self) -> DeltaTable:
        from deltalake import DeltaTable

        if self._folder:
            _refuse_others(self._folder, self.where)
        settings = {"delta.dataSkippingStatsColumns": ",".join(STATISTICS)}
        return DeltaTable.create(
            self._address,
            TABLE,
            mode="ignore",
            partition_by=list(PARTITIONS),
            description=schemas.HISTORY.comment(),
            configuration=settings,
        )

    def _table(self) -> DeltaTable | None:
        """The table as it is now, None before something was recorded. Only the log's news are read."""
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError, TableNotFoundError

        try:
            if self._open is not None:
                self._open.update_incremental()
                return self._open
            check_credentials(self._address)
            table = DeltaTable(self._address)
        except TableNotFoundError as exc:
            if "Unknown scheme" in str(exc):
                raise UsageError(f"{self.where} is not the address of an object store") from None
            return None
        except (DeltaError, OSError, ValueError) as exc:
            raise Invalid(f"{self.where} cannot be read as a Delta table: {_one_line(exc)}") from None
        columns = [field.name for field in table.schema().fields]
        refuse_other_table(self.where, columns)
        self._open = table
        return table


def _library() -> None:
    try:
        import deltalake  # noqa: F401
    except ImportError:
        raise Unsupported("deltalake is not installed", hint="pip install 'kadmin_nb[delta]'.") from None


def _refuse_others(folder: Path, where: str) -> None:
    """A folder with something else in it is somebody's; a table that another writer is just making is ours."""
    entries = os.listdir(folder) if folder.is_dir() else []
    if strange := [name for name in entries if not name.startswith(("_", "kind="))]:
        raise UsageError(
            f"{where} is not a history, and not empty: {strange[0]}", hint="A history is a folder of its own."
        )


def _refuse_unwritable(where: Path) -> None:
    """Refuse a folder in which nothing can be made: delta-rs takes that for a commit in which others were faster."""
    folder = next(place for place in (where / "_delta_log", where, *where.parents) if place.is_dir())
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise files.not_written(where, error) from None


def _files(table: DeltaTable) -> list[dict[str, Any]]:
    """The files that hold states, by the log."""
    actions = pa.table(table.get_add_actions(flatten=True))
    statistics = ["partition.kind", *(f"{edge}.{name}" for name in STATISTICS for edge in ("min", "max"))]
    rows = actions.select([name for name in statistics if name in actions.column_names]).to_pylist()
    return [{**dict.fromkeys(statistics), **row} for row in rows if row["partition.kind"] == STATES]


def _may_hold(file: dict[str, Any], cluster_id: str, until: datetime | None) -> bool:
    return (
        None not in file.values()
        and file["min.cluster_id"][:_SHORT] <= cluster_id
        and (file["max.cluster_id"] >= cluster_id or len(file["max.cluster_id"]) >= _SHORT)
        and (until is None or file["min.taken_at"] <= until)
    )


def _states(
    table: DeltaTable, cluster_id: str | None, until: datetime | None, since: datetime | None = None
) -> list[State]:
    chosen: list[tuple[str, str, object]] = [("kind", "=", STATES)]
    if since is not None:
        chosen.append(("taken_at", ">=", since - _STEP))
    if until is not None:
        chosen.append(("taken_at", "<=", until))
    state_list = states(_read_rows(table, chosen))
    return [state for state in state_list if cluster_id in (None, state.cluster_id)]


def _read_rows(table: DeltaTable, chosen: list[tuple[str, str, object]]) -> pa.Table:
    try:
        read = table.to_pyarrow_table(filters=chosen)
    except (OSError, ValueError) as exc:
        raise Invalid(f"{table.table_uri} cannot be read: {_one_line(exc)}") from None
    except Exception as exc:  # delta-rs has no common ancestor of what it raises
        if isinstance(exc, KadminError):
            raise
        raise Invalid(f"{table.table_uri} cannot be read: {_one_line(exc)}") from None
    return read.select(TABLE.names).cast(TABLE)


_ARROW = re.compile(r"\x1b\[[0-9;]*m|\s*↳\s*")


def _cause(exc: Exception) -> str:
    """The last line of an error of delta-rs, which has the system's words: above stands what it was doing."""
    lines = [_ARROW.sub("", line).strip() for line in str(exc).splitlines()]
    return next((line for line in reversed(lines) if line), type(exc).__name__)


def _one_line(exc: BaseException) -> str:
    return " ".join(str(exc).split())
