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

pytest.importorskip("pyspark")


@pytest.fixture(autouse=True)
def conf(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder of settings that has none yet; no variable names a Spark."""
    for name in ("PYSPARK_SUBMIT_ARGS", "MASTER", "SPARK_REMOTE", "PYSPARK_GATEWAY_PORT", "PYSPARK_PYTHON"):
        monkeypatch.setenv(name, "")  # so that it is as it was afterwards
        monkeypatch.delenv(name)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path / "spark-defaults.conf"


class Jars:
    """Delta's, which are not downloaded."""

    def __str__(self) -> str:
        return "Delta 4.4.0"

    modules = (("io.delta", "delta", "4"),)
    name, version = "Delta", "4.4.0"

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
        settings = {"spark.master": "spark://one:7077"}
        return SimpleNamespace(version="4.2.0", conf=settings)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """What Spark is told by `spark_session`; nothing is started."""
    builder = Builder()
    sessions = SimpleNamespace(builder=builder, getActiveSession=lambda: None)
    monkeypatch.setattr(sparks, "session_class", lambda: sessions)
    monkeypatch.setattr(sparks, "_has_context", lambda: False)
    monkeypatch.setattr("kadmin_nb.java.spark_java_home", lambda: tmp_path)
    monkeypatch.setattr(sparks, "DELTA", Jars())
    monkeypatch.setenv("JAVA_HOME", "")
    return builder.told


@pytest.mark.parametrize("by", ["file", "PYSPARK_SUBMIT_ARGS", "MASTER"])
def test_the_spark_that_is_named_is_taken_as_it_is(
    told: dict[str, str], conf: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """A job for 40 machines ran on two threads, with 4 partitions, its driver on 127.0.0.1."""
    if by == "file":
        conf.write_text("spark.master spark://one:7077")
    else:
        monkeypatch.setenv(by, "spark://one:7077")
    kn.spark_session()
    assert told == {}
    assert "PYSPARK_PYTHON" not in os.environ  # of the workers, which have a Python of their own


def test_where_none_is_named_it_is_a_local_one(told: dict[str, str]) -> None:
    """Spark's own default has 200 partitions, and a log of thousands of lines."""
    kn.spark_session()
    assert told == {"spark.master": "local[2]", **sparks._SETTINGS}
    assert os.environ["PYSPARK_PYTHON"] == sys.executable


DELTA = "io.delta.sql.DeltaSparkSessionExtension"


def test_delta_is_brought_into_a_local_spark_alone(
    told: dict[str, str], conf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver had Delta, and each task of the cluster died of a class that was not found."""
    monkeypatch.setattr("pyspark.__version__", "4.2.1")
    kn.spark_session(delta=True)
    assert (told["spark.driver.extraClassPath"], told["spark.sql.extensions"]) == ("/d.jar", DELTA)
    conf.write_text("spark.master yarn")
    with pytest.raises(kn.errors.Unsupported, match="this Spark was started without Delta"):
        kn.spark_session(delta=True)


def test_a_pyspark_without_delta_is_one_line(told: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
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
