"""A history in a schema of a catalog: Delta tables through Spark SQL. Public, Connect-safe API only."""

from __future__ import annotations

import random
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..errors import Invalid, KadminError, Unsupported
from ..frames.frame import Frame
from ..frames.spark import new_table, said_by, spark_session, to_spark
from .intervals import (
    FRAMES,
    FROM,
    SNAPSHOTS,
    TO,
    Moved,
    Place,
    Reading,
    refuse_other_columns,
    stored_schema,
)
from .snapshot_kinds import SnapshotKind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TRIES = 5

_PROPERTIES = {
    "delta.logRetentionDuration": "interval 7 days",
    "delta.deletedFileRetentionDuration": "interval 1 day",
    "delta.autoOptimize.autoCompact": "true",
}
_FENCE = "kadmin_nb.recorded"
"""The table property that a commit without rows sets: Delta lets no commit pass that began before it."""

_READ_AGAIN = "kadmin_nb: the table is not as it was read"
_LOST = re.compile(rf"{_READ_AGAIN}|Concurrent\w+Exception|DELTA_CONCURRENT|MetadataChanged|DELTA_METADATA_CHANGED")
_HALF_MADE = re.compile(
    r"NON_EMPTY_LOCATION|ALREADY_EXISTS|ProtocolChanged|DELTA_PROTOCOL_CHANGED|Concurrent\w+Exception"
)
_NO_DELTA = re.compile(r"DATA_SOURCE_NOT_FOUND|ClassNotFound|UNSUPPORTED_FEATURE|is not supported for v1 tables")


class SparkSchema(Place):
    """A schema of a catalog."""

    def __init__(self, schema: str, spark: SparkSession | None = None) -> None:
        self.where = schema
        self._spark = spark or spark_session()

    @contextmanager
    def recording(self) -> Iterator[None]:
        for name, frame in FRAMES.items():
            if not self._is_there(name):
                self._make(name, frame)
        yield

    def clusters(self) -> set[str]:
        if not self._is_there(SNAPSHOTS):
            return set()
        return {row[0] for row in self._spark.sql(f"SELECT DISTINCT cluster_id FROM {self._name(SNAPSHOTS)}").collect()}

    def rows(
        self, name: str, cluster_id: str | None, since: datetime | None = None, until: datetime | None = None
    ) -> pa.Table:
        return self._rows(name, self._where(cluster_id, since, until))

    def interval_frame(self, kind: SnapshotKind, cluster_id: str | None) -> DataFrame:
        if not self._is_there(kind.history_table):
            return to_spark(stored_schema(kind.history_frame).empty_table(), self._spark)
        return self._spark.sql(f"SELECT * FROM {self._name(kind.history_table)} WHERE {self._where(cluster_id)}")

    def read(self, kind: SnapshotKind, cluster_id: str, since: datetime) -> Reading:
        name = kind.history_table
        self._is_there(name)
        version = self._version(name)
        chosen = f"{self._name(name)} VERSION AS OF {version} WHERE {self._where(cluster_id, since)}"
        rows = _arrow(self._spark.sql(f"SELECT * FROM {chosen}"), kind.history_frame)
        of_kind = f"{self._where(cluster_id)} AND kind = {self.text(kind.name)}"
        return Reading(rows, self._rows(SNAPSHOTS, of_kind), version)

    def change(self, kind: SnapshotKind, cluster_id: str, edits: pa.Table, since: datetime, reading: Reading) -> int:
        """The version after one MERGE, which fails if other rows or another number of snapshots are found than were
        read.
        """
        name, columns = self._name(kind.history_table), kind.history_frame.names
        chosen = self._where(cluster_id, since)
        mark = "SELECT struct(count(*), bit_xor(xxhash64(*)))"
        as_read = (
            f"({mark} FROM {name} VERSION AS OF {reading.version} WHERE {chosen}) = ({mark} FROM {name} WHERE {chosen})"
            f" AND {len(reading.snapshots)} = (SELECT count(*) FROM {self._name(SNAPSHOTS)}"
            f" WHERE {self._where(cluster_id)} AND kind = {self.text(kind.name)})"
        )
        by = " AND ".join(f"t.`{column}` = s.`{column}`" for column in ("cluster_id", *kind.identity, FROM))
        put = ", ".join(f"t.`{column}` = s.`{column}`" for column in columns)
        self._run(
            f"MERGE INTO {name} AS t USING ("
            f"SELECT *, IF({as_read}, true, raise_error({self.text(_READ_AGAIN)})) AS as_read FROM {{edits}}) AS s"
            f" ON t.cluster_id = {self.text(cluster_id)} AND {by} AND (t.{TO} IS NULL OR t.{TO} >= {self.time(since)})"
            f" WHEN MATCHED AND s.as_read THEN UPDATE SET {put}"
            f" WHEN NOT MATCHED AND s.as_read THEN INSERT ({', '.join(f'`{column}`' for column in columns)})"
            f" VALUES ({', '.join(f's.`{column}`' for column in columns)})",
            edits=to_spark(edits, self._spark),
        )
        return reading.version + 1

    def fence(self, kind: SnapshotKind, version: int) -> None:
        name = kind.history_table
        self._run(f"ALTER TABLE {self._name(name)} SET TBLPROPERTIES ('{_FENCE}' = '{uuid.uuid4().hex}')")
        if self._version(name) != version + 1:
            raise Moved

    def append(self, name: str, rows: pa.Table) -> None:
        added = to_spark(rows.select(FRAMES[name].names), self._spark)
        columns = ", ".join(f"`{column}`" for column in FRAMES[name].names)
        self._run(f"INSERT INTO {self._name(name)} ({columns}) SELECT {columns} FROM {{added}}", added=added)

    def text(self, text: str) -> str:
        """Whatever is in it: its bytes, in hexadecimal."""
        return f"decode(X'{text.encode().hex()}', 'UTF-8')" if re.search(r"[^\w .:-]", text) else f"'{text}'"

    def time(self, time: datetime) -> str:
        return f"TIMESTAMP '{time.astimezone(UTC).isoformat(sep=' ')}'"

    # --- the tables ---

    def _name(self, table: str) -> str:
        return f"{self.where}.{table}"

    def _is_there(self, table: str) -> bool:
        """True if the table exists; one of another shape is refused."""
        name = self._name(table)
        if not self._spark.catalog.tableExists(name):
            return False
        refuse_other_columns(name, FRAMES[table], self._spark.table(name).columns)
        return True

    def _where(self, cluster_id: str | None, since: datetime | None = None, until: datetime | None = None) -> str:
        """The rows of a cluster that touch the time between two."""
        conditions = ["true"] if cluster_id is None else [f"cluster_id = {self.text(cluster_id)}"]
        if since is not None:
            conditions.append(f"({TO} IS NULL OR {TO} >= {self.time(since)})")
        if until is not None:
            conditions.append(f"{FROM} <= {self.time(until)}")
        return " AND ".join(conditions)

    def _rows(self, table: str, chosen: str) -> pa.Table:
        if not self._is_there(table):
            return stored_schema(FRAMES[table]).empty_table()
        return _arrow(self._spark.sql(f"SELECT * FROM {self._name(table)} WHERE {chosen}"), FRAMES[table])

    def _version(self, table: str) -> int:
        """The version of the table's last commit."""
        [row] = self._spark.sql(f"DESCRIBE HISTORY {self._name(table)} LIMIT 1").select("version").collect()
        return int(row[0])

    def _run(self, statement: str, **frames: Any) -> None:
        """A statement that commits.

        Raises
        ------
        Moved
            Others were faster.
        Invalid
            Spark cannot do it.
        """
        try:
            self._spark.sql(statement, **frames).collect()
        except KadminError:
            raise
        except Exception as exc:  # what Spark raises differs between classic and Connect
            if _LOST.search(str(exc)):
                raise Moved from None
            raise Invalid(f"{self.where} cannot be written: {said_by(exc)}", hint="Nothing was recorded.") from None

    def _make(self, table: str, frame: type[Frame]) -> None:
        """A Delta table; another may be making it as well."""
        rows = to_spark(stored_schema(frame).empty_table(), self._spark)
        properties = ", ".join(f"'{key}' = '{value}'" for key, value in _PROPERTIES.items())
        clustered = f"CLUSTER BY (cluster_id, {TO if TO in frame.names else 'taken_at'})"
        statement = new_table(self._name(table), rows, frame, f"USING delta {clustered} TBLPROPERTIES ({properties})")
        for wait in range(TRIES):
            try:
                self._spark.sql(statement)
                break
            except Exception as exc:  # what Spark raises differs between classic and Connect
                if _NO_DELTA.search(str(exc)):
                    raise Unsupported(
                        "this Spark session has no Delta, and a history in a catalog needs its MERGE",
                        hint="kn.spark_session(delta=True) starts one; at a path a history needs no Spark.",
                    ) from None
                if wait == TRIES - 1 or not _HALF_MADE.search(str(exc)):
                    raise Invalid(
                        f"{self._name(table)} cannot be made: {said_by(exc)}", hint="Does the schema exist?"
                    ) from None
                time.sleep(random.uniform(0.1, 0.2 * 2**wait))
        self._is_there(table)


def _arrow(frame: DataFrame, of: type[Frame]) -> pa.Table:
    return frame.select(*of.names).toArrow().cast(stored_schema(of))
