"""A history at a path: a Delta table through delta-rs, without a JVM."""

from __future__ import annotations

import configparser
import os
import random
import re
import stat
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from .. import files
from ..errors import Invalid, KadminError, TimedOut, Unsupported, UsageError
from ..frames import schemas
from ..frames.snapshot_kinds import KINDS
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


# --- where: the folder of a path, or the address of an object store that we have credentials for ---

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/.*", re.S)
_FILE = re.compile(r"file:(?://(?:localhost)?(?=/)|(?=/[^/]))(.*)", re.S | re.I)
_NOT_WRITTEN = re.compile(r"[\x00-\x1f\x7f\[\\\]^|\ud800-\udfff]|%[0-9A-Fa-f]{2}")
"""Characters that delta-rs reads as something else in a path, or ends the process over."""


def folder_of(where: str) -> Path | None:
    """The folder of a path, or of an address file:///a/path; None for the address of an object store.

    Raises
    ------
    UsageError
        It cannot be the folder of a history.
    """
    address = _ADDRESS.fullmatch(where)
    if address and address[1].lower() in ("memory", "fs"):
        raise UsageError(f"{where} is not the address of an object store", hint="Write file:///a/path, or a path.")
    if address and address[1].lower() != "file":
        return None
    path = _FILE.fullmatch(where)
    if address and not path:
        raise UsageError(f"{where} is a folder of another machine", hint="Write file:///a/path.")
    folder = Path(unquote(path[1])) if path else files.expanded(where).absolute()
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


def check_credentials(where: str) -> None:
    """Refuse an object store without credentials: delta-rs would ask the metadata address of a cloud for some.

    Raises
    ------
    UsageError
        Neither the environment nor a file of the cloud's own tools names any.
    """
    scheme, names = where.partition(":")[0].lower(), {name for name, value in os.environ.items() if value}
    gcloud_login = (files.home() or Path("/")) / ".config/gcloud/application_default_credentials.json"
    if scheme in ("s3", "s3a"):
        _check_aws(where, names)
    elif scheme in ("gs", "gcs") and not (any(map(_GOOGLE.fullmatch, names)) or gcloud_login.exists()):
        raise _refusal(where, "credentials for Google Cloud", "GOOGLE_APPLICATION_CREDENTIALS")
    elif scheme in ("az", "azure", "adl", "abfs", "abfss") and not any(map(_AZURE.fullmatch, names)):
        raise _refusal(where, "credentials for Azure", "AZURE_STORAGE_ACCOUNT_KEY")


_MOST_BYTES = 1 << 20
"""Bytes that the profiles of AWS may have."""
_GOOGLE = re.compile(r"GOOGLE_(APPLICATION_CREDENTIALS|SERVICE_ACCOUNT\w*|SKIP_SIGNATURE)|GCE_METADATA_HOST")
_AZURE = re.compile(r"AZURE_\w*(KEY|SAS\w*|SECRET|TOKEN\w*|CLIENT_ID|ENDPOINT|CLI|SIGNATURE)|IDENTITY_ENDPOINT")
_AWS: tuple[set[str], ...] = (
    {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"},
    {"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN"},
    {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"},
    {"AWS_CONTAINER_CREDENTIALS_FULL_URI"},
    {"AWS_SKIP_SIGNATURE"},
)
_AWS_LOGINS = ("aws_secret_access_key", "role_arn", "credential_", "sso_", "web_identity_token_file", "login_session")
"""Beginnings of the keys that make a profile of AWS a login."""
_AWS_HINT = (
    "AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or for the role of this machine "
    "AWS_EC2_METADATA_DISABLED=false"
)


def _check_aws(where: str, names: set[str]) -> None:
    """The region too: without one its metadata address is asked. Its own variables may allow that."""
    switched_on = os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "false"
    if switched_on or "AWS_EC2_METADATA_SERVICE_ENDPOINT" in names:
        return
    profile = _aws_profile()
    if not any(needed <= names for needed in _AWS) and not any(key.startswith(_AWS_LOGINS) for key in profile):
        raise _refusal(where, "credentials for AWS", _AWS_HINT)
    if not names & {"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL"} and "region" not in profile:
        raise _refusal(where, "a region of AWS", "AWS_REGION")


def _aws_profile() -> set[str]:
    """The keys of the chosen profile, in both files that AWS has them in."""
    name = os.environ.get("AWS_PROFILE") or "default"
    keys: set[str] = set()
    for variable, file in (("AWS_SHARED_CREDENTIALS_FILE", "credentials"), ("AWS_CONFIG_FILE", "config")):
        reader = configparser.RawConfigParser(strict=False)
        try:
            place = files.expanded(os.environ.get(variable) or f"~/.aws/{file}")
            reader.read_string(files.read(place, "the profiles of AWS", _MOST_BYTES).decode())
        except (KadminError, configparser.Error, UnicodeDecodeError):
            continue
        keys.update(*(reader[section] for section in (name, f"profile {name}") if section in reader))
    return keys


def _refusal(where: str, lacking: str, hint: str) -> UsageError:
    return UsageError(f"{where} needs {lacking}, and none is configured", hint=f"Set {hint}.")
