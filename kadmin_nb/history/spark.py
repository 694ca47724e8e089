"""A history in a table of Spark's: Delta where the session has it, Parquet elsewhere. Public, Connect-safe API only."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from .. import databricks
from ..errors import Invalid, TimedOut
from ..frames import schemas
from ..frames.spark import new_table, said_by, spark_session, to_spark
from .stored_rows import PARTITIONS, STATES, TABLE, State, refuse_other_table, state_rows, states

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TRIES = 5


class SparkTable:
    """A `Place`. Contents are added before the states that name them, which are what makes them count."""

    def __init__(self, name: str, spark: SparkSession | None = None) -> None:
        self.where = name
        self._spark = spark or spark_session()

    def clusters(self) -> set[str]:
        states = self._states()
        return set() if states is None else {row[0] for row in states.select("cluster_id").distinct().collect()}

    def newest(self, cluster_id: str, until: datetime | None) -> list[State]:
        by_frame = {state.frame: state for state in self.states(cluster_id, until)}
        return sorted(by_frame.values(), key=lambda state: state.taken_at)

    def states(self, cluster_id: str | None = None, until: datetime | None = None) -> list[State]:
        from pyspark.sql import functions as F

        found = self._states()
        if found is None:
            return []
        if cluster_id is not None:
            found = found.where(F.col("cluster_id") == cluster_id)
        if until is not None:
            found = found.where((F.col("part") < f"{until:%Y-%m}~") & (F.col("taken_at") <= F.lit(until)))
        return states(_arrow(found))

    def rows(self, kind: str, parts: Sequence[str]) -> pa.Table:
        from pyspark.sql import functions as F

        table = self._table()
        if table is None or not parts:
            return TABLE.empty_table()
        return _arrow(table.where((F.col("kind") == kind) & F.col("part").isin(list(parts))))

    def append(self, states: Sequence[State], contents: Sequence[pa.Table]) -> None:
        """Add contents, then the states.

        Raises
        ------
        TimedOut
            They were not there after so many tries.
        """
        if self._table() is None:
            self._make()
        described = self._told()
        location = None if described.get("Provider", "").lower() == "delta" else described["Location"]
        for rows in (*contents, _apart(state_rows(list(states)), location)):
            if len(rows):
                self._write(rows, location)

    def _write(self, rows: pa.Table, location: str | None) -> None:
        """Add these rows; after an error they are looked for, since that may have come after the fact."""
        message = ""
        for wait in range(TRIES):
            try:
                return self._insert(rows, location)
            except Exception as exc:  # what Spark raises differs between classic and Connect
                message = f": {said_by(exc)}"
            time.sleep(random.uniform(0, 0.2 * 2**wait))
            if location is None and self._holds(rows):
                return None
        raise TimedOut(f"{self.where} could not be added to, {TRIES} times over{message}", hint="Record it again.")

    def _insert(self, rows: pa.Table, location: str | None) -> None:
        """Into a Delta table in one commit. Into a folder of Parquet partition by partition.

        Two jobs that append to one folder share its `_temporary`, and the first to end takes the other's files away.
        So each partition, which no other writer has, is written as a folder of its own, and then made known.
        """
        if location is None:
            to_spark(rows, self._spark).coalesce(1).write.insertInto(self.where)
            return
        for kind, part in sorted(set(zip(rows["kind"].to_pylist(), rows["part"].to_pylist(), strict=True))):
            part_rows = rows.filter(pc.and_(pc.equal(rows["kind"], kind), pc.equal(rows["part"], part)))
            frame = to_spark(part_rows.drop_columns(list(PARTITIONS)), self._spark).coalesce(1)
            frame.write.mode("overwrite").parquet(f"{location}/kind={kind}/part={part}")
            self._spark.sql(f"ALTER TABLE {self.where} ADD IF NOT EXISTS PARTITION (kind='{kind}', part='{part}')")

    def _holds(self, rows: pa.Table) -> bool:
        """True if these rows are there, by their partitions."""
        from pyspark.sql import functions as F

        table = self._table()
        kind, parts = rows["kind"][0].as_py(), rows["part"].unique().to_pylist()
        if table is None:
            return False
        ours = F.col("snapshot_id").isin(rows["snapshot_id"].unique().to_pylist())
        return table.where((F.col("kind") == kind) & F.col("part").isin(parts) & ours).count() >= len(rows)

    def _states(self) -> DataFrame | None:
        from pyspark.sql import functions as F

        table = self._table()
        return None if table is None else table.where(F.col("kind") == STATES)

    def _table(self) -> DataFrame | None:
        """The table as it is now, None before something was recorded."""
        if not self._spark.catalog.tableExists(self.where):
            return None
        if not databricks.is_here():  # Delta, which is all that it makes, needs none; serverless compute refuses it
            self._spark.catalog.refreshTable(self.where)
        table = self._spark.table(self.where)
        refuse_other_table(self.where, table.columns)
        return table

    def _make(self) -> None:
        """A Delta table where the session can make one, else Parquet; another may be making it as well."""
        rows, message = to_spark(TABLE.empty_table(), self._spark), ""
        parts = f"PARTITIONED BY ({', '.join(PARTITIONS)})"
        for provider in ("delta", "parquet"):
            try:
                self._spark.sql(new_table(self.where, rows, schemas.HISTORY, f"USING {provider} {parts}"))
                return
            except Exception as exc:  # without Delta: DATA_SOURCE_NOT_FOUND, or a class that is not there
                message = said_by(exc)
        raise Invalid(f"{self.where} cannot be made: {message}", hint="Does the schema exist?")

    def _told(self) -> dict[str, str]:
        """The catalog's description of the table."""
        return {row[0]: str(row[1]) for row in self._spark.sql(f"DESCRIBE TABLE EXTENDED {self.where}").collect()}


def _apart(rows: pa.Table, location: str | None) -> pa.Table:
    """States in a partition that no other writer has, where that matters."""
    if location is None:
        return rows
    unique_part = uuid.uuid4().hex
    part = pa.array([f"{month}-{unique_part}" for month in rows["part"].to_pylist()], pa.string())
    return rows.set_column(rows.schema.get_field_index("part"), "part", part)


def _arrow(frame: DataFrame) -> pa.Table:
    return frame.select(*TABLE.names).toArrow().cast(TABLE)
