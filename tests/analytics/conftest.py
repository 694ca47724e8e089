"""One Spark session for all Spark tests of a process, in one of two modes.

Classic unless `KADMIN_TEST_SPARK=connect`: one process holds one mode, so this folder runs once more in a child that
speaks Spark Connect to a server of its own, which `test_connect_mode.py` starts and waits for. The JVM's log goes to
a file there, and its workers have no kadmin_nb, as on a cluster where nobody installed it.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.analytics.connect_child import Child, end_with

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kadmin_nb.local import LocalKafka
    from kadmin_nb.usage import Requests
    from tests.analytics.traffic import Traffic

CONNECT = os.environ.get("KADMIN_TEST_SPARK") == "connect"

_SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Queries are interpreted, which is faster where rows are few; the notebooks' own sessions compile them, as users have
it."""

_LOG4J = """
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{HH:mm:ss}} %p %c{{1}}: %m%n%ex
"""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The child leaves out what is the same there: tests without its session, of the other engine, of lines and of
    brokers, and all but the first example of a test: they tell something of logs and figures, not of the session."""
    if CONNECT:
        same = [item for item in items if any(is_same(item) for is_same in _SAME_OVER_CONNECT)]
        same += _further_examples([item for item in items if item not in same])
        config.hook.pytest_deselected(items=same)
        items[:] = [item for item in items if item not in same]


def _is_without_session(item: pytest.Item) -> bool:
    return "spark" not in item.fixturenames and item.path.name != "test_connect_mode.py"


def _is_of_this_process(item: pytest.Item) -> bool:
    return any(_params(item).get(name) == "arrow" for name in ("of", "usage", "from_metrics", "utilisation"))


def _is_of_lines(item: pytest.Item) -> bool:
    """Written by the test, and read by the same code of workers; but times pass through the session's zone."""
    return {"of", "log"} <= set(item.fixturenames) and "tz" not in _params(item)


def _is_of_a_broker(item: pytest.Item) -> bool:
    return "traffic" in item.fixturenames


def _params(item: pytest.Item) -> Mapping[str, Any]:
    return item.callspec.params if hasattr(item, "callspec") else {}


_SAME_OVER_CONNECT = (_is_without_session, _is_of_this_process, _is_of_lines, _is_of_a_broker)


def _further_examples(items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests of a function after its first."""
    by_function = {item.nodeid.partition("[")[0]: item for item in reversed(items)}
    return [item for item in items if item not in by_function.values()]


def pytest_collection_finish(session: pytest.Session) -> None:
    """The child ends with the process that started it."""
    if CONNECT:
        end_with(os.getppid())


@pytest.fixture
def connect_child(request: pytest.FixtureRequest) -> Iterator[Child | None]:
    """This folder's tests, those that the test names, in a process that speaks Spark Connect; it has none itself."""
    if CONNECT:
        yield None
        return
    child = Child(request.param)
    yield child
    child.stop()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session: `master("local[2]")`, or `remote("local[2]")` in the child."""
    if CONNECT:
        session = _connect(tmp_path_factory.mktemp("spark"))
        yield session
        session.stop()
    else:
        yield _classic()


def _classic() -> SparkSession:
    """The one that `kn.spark_session()` starts; other folders' tests use it too, so nobody stops it."""
    import kadmin_nb as kn

    session = kn.spark_session()
    shuffles = "spark.sql.shuffle.partitions"
    for key, value in {shuffles: _SETTINGS[shuffles], **_INTERPRETED}.items():
        session.conf.set(key, value)
    return session


def _connect(folder: Path) -> SparkSession:
    """A session with a Connect server of its own, on a port that no outgoing connection takes."""
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.client.core import DefaultChannelBuilder

    from kadmin_nb.java import spark_java_home
    from kadmin_nb.local.local_kafka import _free_ports

    (port,) = _free_ports(1)
    DefaultChannelBuilder.default_port = staticmethod(lambda: port)
    properties = folder / "log4j2.properties"
    properties.write_text(_LOG4J.format(log=folder / "spark.log"))
    os.environ["PYSPARK_PYTHON"] = str(_python_without_kadmin_nb(folder))
    os.environ["JAVA_HOME"] = str(spark_java_home())
    builder = SparkSession.builder.remote("local[2]").appName("kadmin_nb tests")
    builder = builder.config("spark.connect.grpc.binding.port", str(port))
    builder = builder.config("spark.sql.warehouse.dir", (folder / "warehouse").as_uri())  # the parent makes tables too
    builder = builder.config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={properties.as_uri()}")
    for key, value in (_SETTINGS | _INTERPRETED).items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():  # what the server was started with cannot be set once more
        warnings.simplefilter("ignore", UserWarning)
        return builder.getOrCreate()


def _python_without_kadmin_nb(folder: Path) -> Path:
    """This Python, but `import kadmin_nb` fails in it."""
    (folder / "kadmin_nb.py").write_text("raise ImportError('workers have no kadmin_nb: send code by value')\n")
    command = folder / "python"
    path = f'{folder}:"$PYTHONPATH"'
    command.write_text(f'#!/bin/sh\nPYTHONSAFEPATH=1 PYTHONPATH={path} exec "{sys.executable}" "$@"\n')
    command.chmod(0o755)
    return command


@pytest.fixture(scope="session")
def traffic(secure_kafka: LocalKafka, tmp_path_factory: pytest.TempPathFactory) -> Traffic:
    """What real clients sent and were told."""
    from tests.analytics.traffic import told_by

    return told_by(secure_kafka, tmp_path_factory.mktemp("requests"))


@pytest.fixture(scope="session")
def seen(spark: SparkSession, traffic: Traffic) -> Requests:
    """What the broker's request log tells of them."""
    import kadmin_nb as kn

    offset = datetime.now().astimezone().strftime("%z")  # a local Kafka's log4j writes the time of this machine
    return kn.usage.requests(str(traffic.log), spark=spark, broker=1, tz=f"{offset[:3]}:{offset[3:]}")
