"""A history at a path: a folder with a Delta table each, through delta-rs, without a JVM.

A lock keeps recorders apart, so that what Delta keeps for readers and writers of long ago need not stay. Other programs
may write, too, as one that joins small files: a change succeeds only upon the very version that was read.
"""

from __future__ import annotations

import json
import random
import re
import stat
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import reduce
from operator import and_
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from .. import files
from ..errors import Invalid, TimedOut, Unsupported, UsageError
from ..frames.frame import Frame
from .intervals import (
    FRAMES,
    FROM,
    PLANNED,
    SNAPSHOTS,
    TO,
    TRIES,
    Moved,
    Place,
    Reading,
    moment_of,
    refuse_other_columns,
    stored_schema,
)
from .snapshot_kinds import SnapshotKind

if TYPE_CHECKING:
    from deltalake import DeltaTable


LOCK = ".lock"
_PATIENCE = 60.0
"""Seconds to wait while another process records."""

_TIDIED_EVERY = 6
"""Commits after which a table's files are put in order."""

_VERSIONS_KEPT = 5
"""The newest versions whose files stay, for those who read right now."""

ROW_GROUP = 20_000
"""Rows of ended intervals, in order of their ends, that are read or passed over together."""

_PLAIN = {pa.string_view(): pa.string()}


class DeltaFolder(Place):
    """A folder of this machine."""

    def __init__(self, where: str) -> None:
        self.where = where
        self._folder = folder_of(where)
        self._open: dict[str, tuple[DeltaTable, object]] = {}
        self._seen_at: dict[str, int] = {}
        try:
            import deltalake  # noqa: F401
        except ImportError:
            raise Unsupported("deltalake is not installed", hint="pip install 'kadmin_nb[delta]'.") from None

    @contextmanager
    def recording(self) -> Iterator[None]:
        with self._alone():
            self._seen_at.clear()
            yield
            for name, version in list(self._seen_at.items()):
                self._tidy(name, version)

    def clusters(self) -> set[str]:
        """By the partitions, which the log has."""
        table = self._table(SNAPSHOTS)
        return set() if table is None else {part["cluster_id"] for part in table.partitions()}

    def rows(
        self, name: str, cluster_id: str | None, since: datetime | None = None, until: datetime | None = None
    ) -> pa.Table:
        """The rows of a table; where a recorder has just removed a file, of its newest version."""
        chosen = _touching(cluster_id, since, until)
        for _ in range(TRIES):
            if (table := self._table(name)) is None:
                return stored_schema(FRAMES[name]).empty_table()
            with suppress(FileNotFoundError):
                return self._chosen(table, FRAMES[name], chosen)
        raise Invalid(f"{self.where}/{name} cannot be read: a file of the table is missing")

    def read(self, kind: SnapshotKind, cluster_id: str, since: datetime) -> Reading:
        """The tables at hand will do: a commit upon an older version than the newest fails."""
        table = self._newest(kind.history_table)
        rows = self._chosen(table, kind.history_frame, _touching(cluster_id, since))
        of_cluster = self._chosen(self._newest(SNAPSHOTS), FRAMES[SNAPSHOTS], _touching(cluster_id))
        return Reading(rows, of_cluster.filter(pc.equal(of_cluster["kind"], kind.name)), table.version())

    def change(self, kind: SnapshotKind, cluster_id: str, edits: pa.Table, since: datetime, reading: Reading) -> int:
        table, columns = self._newest(kind.history_table), kind.history_frame.names
        quoted = cluster_id.replace("'", "''")
        by = " AND ".join(f't."{name}" = s."{name}"' for name in (*kind.identity, FROM))
        at = f"arrow_cast('{since.astimezone(UTC).isoformat()}', 'Timestamp(Microsecond, Some(\"UTC\"))')"
        values = {f'"{name}"': f's."{name}"' for name in columns}
        with self._committing():
            merge = table.merge(
                edits.replace_schema_metadata(),
                f"t.cluster_id = '{quoted}' AND {by} AND (t.{TO} IS NULL OR t.{TO} >= {at})",
                source_alias="s",
                target_alias="t",
                writer_properties=_written(),
                **_exactly(),
            )
            merge = merge.when_matched_update(updates={n: v for n, v in values.items() if n != '"cluster_id"'})
            merge.when_not_matched_insert(updates=values).execute()
        return table.version()

    def fence(self, kind: SnapshotKind, version: int) -> None:
        """The lock keeps others out until the end."""

    def append(self, name: str, rows: pa.Table) -> None:
        from deltalake import write_deltalake

        rows = rows.cast(stored_schema(FRAMES[name]).remove_metadata())
        table = self._newest(name)
        with self._committing():
            write_deltalake(table, rows, mode="append", writer_properties=_written(), **_hooks())

    # --- the tables ---

    def _table(self, name: str) -> DeltaTable | None:
        """The table as it is now, None before something was recorded."""
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError, TableNotFoundError

        try:
            table, commit = self._open.pop(name, (None, None))
            if table is not None and commit and commit == self._last_commit(name, table):
                table.update_incremental()
            else:
                table = DeltaTable(self._uri(name))
        except TableNotFoundError:
            return None
        except (DeltaError, OSError, ValueError) as exc:
            raise Invalid(f"{self.where} cannot be read as a Delta table: {_one_line(exc)}") from None
        refuse_other_columns(self.where, FRAMES[name], [field.name for field in table.schema().fields])
        self._open[name] = table, self._last_commit(name, table)
        return table

    def _last_commit(self, name: str, table: DeltaTable) -> object:
        """What tells the last commit of an open table from that of another table in its place; None where the log does
        not have it any more.
        """
        with suppress(FileNotFoundError):
            commit = (self._folder / name / "_delta_log" / f"{table.version():020}.json").stat()
            return commit.st_ino, commit.st_mtime_ns
        return None

    def _uri(self, name: str) -> str:
        return f"{self._folder.as_uri()}/{name}"

    def _made(self, name: str) -> DeltaTable:
        from deltalake import DeltaTable

        settings = {
            "delta.dataSkippingStatsColumns": "taken_at" if name in (SNAPSHOTS, PLANNED) else f"{FROM},{TO}",
            "delta.logRetentionDuration": "interval 0 seconds",
        }
        with self._committing():
            return DeltaTable.create(
                self._uri(name),
                stored_schema(FRAMES[name]),
                mode="ignore",
                partition_by=["cluster_id"],
                description=FRAMES[name].comment(),
                configuration=settings,
            )

    def _newest(self, name: str) -> DeltaTable:
        """The table as this record has opened or written it; made where it is missing."""
        if name not in self._seen_at:
            table = self._table(name) or self._made(name)
            self._open[name] = table, None  # it stays as it is until it commits, and is opened again for a question
            self._seen_at[name] = table.version()
        return self._open[name][0]

    def _chosen(self, table: DeltaTable, frame: type[Frame], chosen: Any) -> pa.Table:
        """Texts are looked up in a column's dictionary only where their row is chosen."""
        schema = stored_schema(frame)
        try:
            return _with_dictionaries(table, schema).to_table(filter=chosen, columns=schema.names).cast(schema)
        except FileNotFoundError:
            raise
        except Exception as exc:  # delta-rs has no common ancestor of what it raises
            raise Invalid(f"{table.table_uri} cannot be read: {_one_line(exc)}") from None

    @contextmanager
    def _committing(self) -> Iterator[None]:
        """Around a commit.

        Raises
        ------
        Moved
            Others were faster.
        Invalid
            It cannot be written.
        """
        from deltalake.exceptions import CommitFailedError, DeltaError

        try:
            yield
        except CommitFailedError:
            self._seen_at.clear()
            _refuse_unwritable(self._folder)
            raise Moved from None
        except (DeltaError, OSError) as exc:
            raise Invalid(f"{self.where} cannot be written: {_one_line(exc)}", hint="Nothing was recorded.") from None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other process records until the block ends."""
        _refuse_others(self._folder, self.where)
        folder = files.make_folder(self._folder)
        try:
            with open(folder / LOCK, "ab") as file:
                until = time.monotonic() + _PATIENCE
                while files.lock_open_file(file.fileno()) is False:
                    if time.monotonic() > until:
                        raise TimedOut(f"{self.where}: another process has been recording for over {_PATIENCE:.0f} s")
                    time.sleep(random.uniform(0.005, 0.02))
                yield
        except OSError as error:
            raise files.not_written(folder, error) from None

    # --- the files of a table, put in order ---

    def _tidy(self, name: str, version: int) -> None:
        """After some commits, separate ended intervals from open ones, join small files, write a checkpoint and
        remove files without readers. What fails of it is left to the next recorder.
        """
        from deltalake.exceptions import DeltaError

        table = self._newest(name)
        if table.version() // _TIDIED_EVERY == version // _TIDIED_EVERY:
            return
        try:
            if name in (SNAPSHOTS, PLANNED):
                table.optimize.compact(**_exactly())
            else:
                _part(table)
            table = self._table(name) or table
            kept = [*range(max(0, table.version() - _VERSIONS_KEPT), table.version() + 1)]
            table.vacuum(
                0, dry_run=False, enforce_retention_duration=False, full=True, keep_versions=kept, **_exactly()
            )
            table = self._table(name) or table
            table.create_checkpoint()
            table.cleanup_metadata()
        except (DeltaError, OSError):
            return


def _part(table: DeltaTable) -> None:
    """Write the open intervals of each cluster into one file, which the next recorders read and write, and the ended
    ones into others, which double in size: so each row is written only a few times.
    """
    actions = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    for cluster_id in {file["partition.cluster_id"] for file in actions}:
        own = [file for file in actions if file["partition.cluster_id"] == cluster_id]
        mixed = [file for file in own if file.get(f"null_count.{TO}") != 0]
        rows = sum(file["num_records"] for file in mixed)
        ended = rows - sum(file.get(f"null_count.{TO}") or 0 for file in mixed)
        if not mixed or (len(mixed) == 1 and ended <= rows / 5):
            continue
        for file in sorted((file for file in own if file not in mixed), key=lambda file: file["num_records"]):
            if file["num_records"] <= 2 * ended:
                mixed.append(file)
                ended += file["num_records"]
        _rewrite(table, mixed, cluster_id)


def _rewrite(table: DeltaTable, chosen: Sequence[dict[str, Any]], cluster_id: str) -> None:
    """Open and ended intervals of some files into files of their own, in one commit."""
    from deltalake._internal import RemoveAction

    data = table.to_pyarrow_dataset()
    paths = {unquote(file["path"]) for file in chosen}
    fields = [pa.field(field.name, _PLAIN.get(field.type, field.type)) for field in data.schema]
    schema = pa.schema([field for field in fields if field.name != "cluster_id"])
    fragments = [fragment for fragment in data.get_fragments() if fragment.path in paths]
    rows = pa.concat_tables([fragment.to_table(columns=schema.names).cast(schema) for fragment in fragments])
    if len(rows) != sum(file["num_records"] for file in chosen):
        return
    is_open, now = pc.is_null(rows[TO]), int(time.time() * 1000)
    folder = chosen[0]["path"].rpartition("/")[0]
    actions: list[Any] = [
        RemoveAction(file["path"], False, now, file["size_bytes"], {"cluster_id": cluster_id}) for file in chosen
    ]
    for part in (rows.filter(is_open), rows.filter(pc.invert(is_open)).sort_by(TO)):
        if len(part):
            actions.append(_added(part, data.filesystem, f"{folder}/part-{uuid4()}.zstd.parquet", cluster_id, now))
    table.create_write_transaction(actions, "append", table.schema(), **_exactly())


def _added(rows: pa.Table, filesystem: Any, path: str, cluster_id: str, now: int) -> Any:
    """A new file with these rows, as Delta's log has it."""
    from deltalake.transaction import AddAction
    from pyarrow import parquet

    with filesystem.open_output_stream(unquote(path)) as file:
        parquet.write_table(rows, file, compression="zstd", row_group_size=ROW_GROUP)
    edges = {name: pc.min_max(rows[name]).as_py() for name in (FROM, TO)}
    least, most = (
        {name: f"{edge[side].astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}" for name, edge in edges.items() if edge[side]}
        for side in ("min", "max")
    )
    nulls = {name: rows[name].null_count for name in edges}
    statistics = {"numRecords": len(rows), "minValues": least, "maxValues": most, "nullCount": nulls}
    size = filesystem.get_file_info(unquote(path)).size
    return AddAction(path, size, {"cluster_id": cluster_id}, now, False, json.dumps(statistics))


def _with_dictionaries(table: DeltaTable, schema: pa.Schema) -> Any:
    """The columns of a table, its texts as their files have them."""
    from pyarrow import dataset

    words = [field.name for field in schema if pa.types.is_string(field.type) and field.name != "cluster_id"]
    kind = pa.dictionary(pa.int32(), pa.string())
    fields = [field.with_type(kind) if field.name in words else field for field in schema]
    options = dataset.ParquetReadOptions(dictionary_columns=words)
    return table.to_pyarrow_dataset(parquet_read_options=options).replace_schema(pa.schema(fields))


def _exactly() -> dict[str, Any]:
    """A commit upon the version that was read, or none."""
    from deltalake import CommitProperties

    return {"commit_properties": CommitProperties(max_commit_retries=0), **_hooks()}


def _hooks() -> dict[str, Any]:
    """Nothing of Delta's own after a commit: `_tidy` does it."""
    from deltalake import PostCommitHookProperties

    return {"post_commithook_properties": PostCommitHookProperties(False, False)}


def _written() -> Any:
    from deltalake import WriterProperties

    return WriterProperties(compression="ZSTD")


def _touching(cluster_id: str | None, since: datetime | None = None, until: datetime | None = None) -> Any:
    """The rows of a cluster, or of all, that touch the time between two."""
    from pyarrow import dataset

    conditions = [] if cluster_id is None else [dataset.field("cluster_id") == cluster_id]
    if since is not None:
        conditions.append(dataset.field(TO).is_null() | (dataset.field(TO) >= moment_of(since)))
    if until is not None:
        conditions.append(dataset.field(FROM) <= moment_of(until))
    return reduce(and_, conditions) if conditions else None


def _refuse_others(folder: Path, where: str) -> None:
    """Refuse a folder with anything else in it; a table that another writer is just making is ours."""
    entries = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    if strange := [name for name in entries if name not in (*FRAMES, LOCK)]:
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


_ARROW = re.compile(r"\x1b\[[0-9;]*m|\s*↳\s*")


def _one_line(exc: BaseException) -> str:
    return " ".join(_ARROW.sub(" ", str(exc)).split())


# --- the place ---

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/.*", re.S)
_NOT_WRITTEN = re.compile(r"[\x00-\x1f\x7f\[\\\]^|\ud800-\udfff]|%[0-9A-Fa-f]{2}")
"""Characters that delta-rs reads as something else in a path, or ends the process over."""


def folder_of(where: str) -> Path:
    """The folder of a path.

    Raises
    ------
    UsageError
        It cannot be the folder of a history.
    """
    if _ADDRESS.fullmatch(where):
        hint = "Give catalog.schema, for Spark, or the path of a folder, as where an object store is mounted."
        raise UsageError(f"{where} is an address, not the path of a folder", hint=hint)
    folder = files.expanded(where).absolute()
    if character := _NOT_WRITTEN.search(str(folder)):
        raise UsageError(f"{where} cannot be the folder of a history: {character[0]!r} in its path")
    try:
        if not stat.S_ISDIR(folder.stat().st_mode):
            raise UsageError(f"{where} is a file", hint="A history is a folder of its own.")
    except FileNotFoundError:
        pass
    except OSError as error:
        raise UsageError(f"{where} cannot be the folder of a history: {error.strerror}") from None
    return folder
