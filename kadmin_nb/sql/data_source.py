"""The data source `kadmin_nb`: frames of clusters as tables of Spark's, a partition a cluster.

The source travels by value: beside a Connect server, and on the workers, PySpark may be all there is. The wheel is
needed where a partition is read, by `rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from ..cluster import Cluster, connect
from ..errors import Unsupported, UsageError
from ..fleets.workers import silence, travelling, with_message_alone
from ..frames import schemas
from ..frames.frame import TEXT
from ..frames.given_frames import plain
from ..frames.spark import spark_schema
from ..hints import did_you_mean
from ..model.grammar import LEFT_OUT
from ..state.taking import configs_of, listed_resources

NAME = "kadmin_nb"
SEPARATOR = ";"
"""Between clusters: an address may have commas in it, the path of a file spaces."""

FRAME, CLUSTER = "frame", "cluster"
NARROWING = ("user", "client_id", "ip", "resource_type", "resource_name")
"""Columns whose value a broker can be asked for: options, each where a frame has the column."""

OPTIONS = (FRAME, CLUSTER, *NARROWING)

WHEEL = "Install it where Spark's workers run, as a library of the cluster or the environment; docs/sql.md."

Asked = Mapping[str, Sequence[str]]
"""The names that are asked for, by column; all where it has none."""

FRAMES = {
    "quotas": schemas.QUOTAS,
    "configs": schemas.CONFIGS,
    "brokers": schemas.BROKERS,
}


def columns_of(frame: str) -> pa.Schema:
    """The columns of a frame of clusters: the cluster as it was named, its id, and the frame's own."""
    leading = [pa.field(name, TEXT, False) for name in ("cluster", "cluster_id")]
    return plain(pa.schema([*leading, *FRAMES[frame].schema]).empty_table()).schema


COLUMNS = {name: spark_schema(columns_of(name)) for name in FRAMES}
"""The columns of each frame, as Spark has them."""


class ClusterFrames(DataSource):
    """`spark.read.format("kadmin_nb")`."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        silence()
        return COLUMNS[self._chosen().frame]

    def reader(self, schema: StructType) -> DataSourceReader:
        silence()
        return FrameReader(self._chosen())

    def _chosen(self) -> Chosen:
        """What the options say.

        Raises
        ------
        UsageError
            One is missing, or is not one of ours.
        """
        try:
            return Chosen.of(self.options)
        except UsageError as error:
            raise with_message_alone(error) from None


@dataclass(frozen=True)
class Chosen:
    """What is read: a frame of clusters, of the names that are asked for by column; all where it has none."""

    frame: str
    clusters: Sequence[str]
    asked: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Chosen:
        """What options say.

        Raises
        ------
        UsageError
            One is missing, or is not one of ours.
        """
        if unknown := next((name for name in options if name.lower() not in OPTIONS), None):
            hint = did_you_mean(unknown.lower(), OPTIONS, f"It has {', '.join(OPTIONS)}.")
            raise UsageError(f"{NAME} has no option {unknown}", hint=hint)
        frame = options.get(FRAME, "")
        if frame not in COLUMNS:
            problem = f"{NAME} has no frame {frame!r}" if frame else "the option frame is missing"
            raise UsageError(problem, hint=did_you_mean(frame, COLUMNS, f"One of {', '.join(COLUMNS)}."))
        if strange := next((name for name in NARROWING if name in options and name not in COLUMNS[frame].names), None):
            raise UsageError(f"{frame} has no column {strange}", hint="Leave the option out.")
        clusters = [name for part in options.get(CLUSTER, "").split(SEPARATOR) if (name := part.strip())]
        if not clusters:
            hint = f"A profile, the path of a properties file, or host:port; several separated by {SEPARATOR}"
            raise UsageError("the option cluster is missing", hint=hint)
        asked = {name: [options[name]] for name in NARROWING if name in options}
        return cls(frame, list(dict.fromkeys(clusters)), asked)


class FrameReader(DataSourceReader):
    """Reads a frame of clusters: a partition a cluster, all of it."""

    def __init__(self, chosen: Chosen) -> None:
        self.chosen = chosen

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(name) for name in self.chosen.clusters]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        silence()
        try:
            from kadmin_nb.sql.data_source import rows
        except ImportError as error:
            raise with_message_alone(Unsupported(f"kadmin_nb is not on Spark's workers: {error}", hint=WHEEL)) from None
        try:
            table = rows(self.chosen.frame, partition.value, self.chosen.asked)
        except Exception as error:  # a KadminError of the worker's own package, which is another class than ours
            if not hasattr(error, "in_one_line"):
                raise
            raise with_message_alone(error) from None
        return iter(table.combine_chunks().to_batches())


def register_source(spark: SparkSession) -> None:
    """Make the data source known to a session."""
    with travelling():
        spark.dataSource.register(ClusterFrames)


# --- read where Spark reads ---


def rows(frame: str, target: str, asked: Asked) -> pa.Table:
    """The frame of a cluster, of the names that are asked for and perhaps others.

    Raises
    ------
    KadminError
        As of `connect`, and of the verb that reads the frame.
    """
    with connect(target) as cluster:
        table = plain(_READERS[frame](cluster, asked))
        leading = {"cluster": pa.repeat(target, len(table)), "cluster_id": pa.repeat(cluster.id, len(table))}
    return pa.table({**leading, **{name: table[name] for name in table.column_names}}).cast(columns_of(frame))


def _quotas(cluster: Cluster, asked: Asked) -> pa.Table:
    user, client_id, ip = (list(asked.get(name, ())) or LEFT_OUT for name in ("user", "client_id", "ip"))
    return cluster.quotas.describe(user=user, client_id=client_id, ip=ip).to_arrow()


def _configs(cluster: Cluster, asked: Asked) -> pa.Table:
    """All configs of the resources that a cluster lists, the values that hold by default too."""
    types, names = asked.get("resource_type"), asked.get("resource_name")
    resources = [
        resource
        for resource in listed_resources(cluster.port)
        if (types is None or resource.type in types) and (names is None or resource.name in names)
    ]
    return configs_of(cluster.port, resources)


_READERS: Mapping[str, Callable[[Cluster, Asked], pa.Table]] = {
    "quotas": _quotas,
    "configs": _configs,
    "brokers": lambda cluster, _: cluster.brokers.to_arrow(),
}
