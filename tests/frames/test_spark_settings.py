"""Which Spark is named, and by what: no session is started."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kadmin_nb as kn
from kadmin_nb.frames import spark as sparks
from kadmin_nb.frames.spark_settings import Setting, spark_settings

pytest.importorskip("pyspark")


@pytest.fixture(autouse=True)
def conf(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder of settings that has none yet; no variable names a Spark."""
    for name in ("PYSPARK_SUBMIT_ARGS", "MASTER", "SPARK_REMOTE", "PYSPARK_GATEWAY_PORT", "PYSPARK_PYTHON"):
        monkeypatch.setenv(name, "")  # so that it is as it was afterwards
        monkeypatch.delenv(name)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path / "spark-defaults.conf"


DEFAULTS = """# the platform team's
spark.master            spark://one:7077
spark.executor.memory = 4g
spark.driver.extraJavaOptions:-Da=b \\
    -Dc=d
! spark.master yarn

spark.empty
"""


def test_the_file_of_defaults_is_read_as_spark_reads_it(conf: Path) -> None:
    """spark.master stood in spark-defaults.conf, and the job ran on two threads of its driver."""
    conf.write_text(DEFAULTS)
    assert spark_settings() == {
        name: Setting(value, str(conf))
        for name, value in {
            "spark.master": "spark://one:7077",
            "spark.executor.memory": "4g",
            "spark.driver.extraJavaOptions": "-Da=b -Dc=d",
            "spark.empty": "",
        }.items()
    }


@pytest.mark.parametrize(
    ("arguments", "master"),
    [
        ("pyspark-shell", "spark://defaults:7077"),
        ("--master yarn pyspark-shell", "yarn"),
        ('"--master" "local[8]" "pyspark-shell"', "local[8]"),
        ("--master=k8s://https://k8s:6443 pyspark-shell", "k8s://https://k8s:6443"),
        ("--verbose -c spark.master=yarn --conf spark.a=b=c pyspark-shell", "yarn"),
        ("--master yarn --conf spark.master=spark://conf:7077 pyspark-shell", "yarn"),
        ("--properties-file {file} pyspark-shell", "spark://file:7077"),
        ("--jars a.jar pyspark-shell --master yarn", "spark://defaults:7077"),
    ],
)
def test_arguments_of_spark_submit_win(
    conf: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: str, master: str
) -> None:
    """`pyspark --master yarn` had opened the notebook, and its cells ran on two threads of the laptop."""
    conf.write_text("spark.master spark://defaults:7077")
    file = tmp_path / "team.conf"
    file.write_text("spark.master spark://file:7077")
    monkeypatch.setenv("MASTER", "spark://variable:7077")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments.format(file=file))
    assert spark_settings()["spark.master"].value == master


def test_the_variable_counts_where_nothing_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """spark-submit took it, and we did not."""
    monkeypatch.setenv("MASTER", "spark://variable:7077")
    assert spark_settings() == {"spark.master": Setting("spark://variable:7077", "$MASTER")}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("--name 'half pyspark-shell", "PYSPARK_SUBMIT_ARGS is not a line of options: No closing quotation"),
        ("--properties-file /no/such.conf pyspark-shell", "Spark's settings cannot be read: .*/no/such.conf"),
    ],
)
def test_settings_that_cannot_be_read_are_one_line(
    monkeypatch: pytest.MonkeyPatch, arguments: str, problem: str
) -> None:
    """A traceback out of shlex."""
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
    with pytest.raises(kn.UsageError, match=problem):
        spark_settings()


class Jars:
    """Delta's, which are not downloaded."""

    def __str__(self) -> str:
        return "Delta 4.4.0"

    def jars(self) -> tuple[Path, ...]:
        return (Path("/d.jar"),)


class Builder:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: dict[str, str] = {}

    def master(self, master: str) -> Builder:
        return self.config("spark.master", master)

    def config(self, name: str, value: str) -> Builder:
        self.told[name] = value
        return self

    def getOrCreate(self) -> Any:
        return SimpleNamespace(version="4.2.0")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """What Spark is told by `spark_session`; nothing is started."""
    builder = Builder()
    sessions = SimpleNamespace(builder=builder, getActiveSession=lambda: None)
    monkeypatch.setattr(sparks, "_sessions", lambda: sessions)
    monkeypatch.setattr(sparks, "_has_context", lambda: False)
    monkeypatch.setattr("kadmin_nb.java.spark_java_home", lambda: tmp_path)
    monkeypatch.setattr(sparks, "DELTA", Jars())
    monkeypatch.setenv("JAVA_HOME", "")
    return builder.told


def test_the_spark_that_is_named_is_taken_as_it_is(told: dict[str, str], conf: Path, capfd: Any) -> None:
    """A job for 40 machines ran on two threads, with 4 partitions, its driver on 127.0.0.1; and nothing said so."""
    conf.write_text("spark.master spark://one:7077")
    kn.spark_session()
    assert told == {"spark.master": "spark://one:7077", "spark.app.name": "kadmin_nb"}
    assert capfd.readouterr().err == f"Spark 4.2.0 at spark://one:7077, as {conf} says\n"


def test_where_none_is_named_ours_are_defaults(told: dict[str, str], conf: Path, capfd: Any) -> None:
    """200 partitions were set for a large log, and it ran with 4."""
    conf.write_text("spark.sql.shuffle.partitions 200\nspark.app.name nightly")
    kn.spark_session()
    ours = {name for name in sparks._SETTINGS if name != "spark.sql.shuffle.partitions"}
    assert told["spark.master"] == "local[2]"
    assert told.keys() == {"spark.master", *ours}
    assert capfd.readouterr().err == ""


def test_workers_of_a_cluster_run_their_own_python(
    told: dict[str, str], conf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path of the laptop's Python was looked for on each worker."""
    conf.write_text("spark.master spark://one:7077")
    kn.spark_session()
    assert "PYSPARK_PYTHON" not in os.environ
    conf.write_text("spark.master spark://one:7077\nspark.pyspark.python /opt/python3.12")
    kn.spark_session()
    assert os.environ["PYSPARK_PYTHON"] == "/opt/python3.12"
    monkeypatch.delenv("PYSPARK_PYTHON")
    conf.write_text("spark.master local[8]")
    kn.spark_session()
    assert os.environ["PYSPARK_PYTHON"] == sys.executable


DELTA = "io.delta.sql.DeltaSparkSessionExtension"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("", {"spark.driver.extraClassPath": "/d.jar", "spark.sql.extensions": DELTA}),
        ("spark.master yarn", {"spark.jars": "/d.jar", "spark.sql.extensions": DELTA}),
        (
            "spark.master yarn\nspark.jars hdfs:/a.jar\nspark.sql.extensions org.Iceberg",
            {"spark.jars": "hdfs:/a.jar,/d.jar", "spark.sql.extensions": f"org.Iceberg,{DELTA}"},
        ),
        (f"spark.master yarn\nspark.sql.extensions {DELTA}", {}),
    ],
    ids=["local", "cluster", "beside others", "there already"],
)
def test_delta_reaches_the_workers(
    told: dict[str, str], conf: Path, settings: str, expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver had Delta, and each task died of a class that was not found."""
    monkeypatch.setattr("pyspark.__version__", "4.2.1")
    conf.write_text(settings)
    kn.spark_session(delta=True)
    names = ("spark.driver.extraClassPath", "spark.jars", "spark.sql.extensions")
    assert {name: told[name] for name in names if name in told} == expected


def test_a_pyspark_without_delta_is_one_line(told: dict[str, str], monkeypatch: pytest.MonkeyPatch, conf: Path) -> None:
    """A JVM started, and ended in java.lang.NoSuchMethodError."""
    monkeypatch.setattr("pyspark.__version__", "4.3.0")
    with pytest.raises(kn.errors.Unsupported) as refused:
        kn.spark_session(delta=True)
    assert told == {}
    assert refused.value.lines() == [
        "Unsupported: Delta 4.4.0 is for PySpark 4.2, and this is PySpark 4.3.0",
        "Hint: pip install 'pyspark==4.2.*', or bring another Delta by spark-defaults.conf: spark.jars.packages,"
        " spark.sql.extensions and spark.sql.catalog.spark_catalog.",
    ]
    conf.write_text(f"spark.sql.extensions {DELTA}")
    kn.spark_session(delta=True)
    assert told["spark.master"] == "local[2]"
