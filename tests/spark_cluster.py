"""A standalone Spark cluster on loopback, out of PySpark's own jars: a master, and workers whose Python has numpy,
pyarrow and pandas, and no kadmin_nb."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from kadmin_nb.java import spark_java_home
from tests.spark_archive import JARS, submit_options

PACKAGES = ("numpy", "pyarrow", "pandas")
"""What workers need, with what pandas needs itself."""

LONGEST_START = 120.0
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"


class Cluster:
    """A master and so many workers, in a folder; they end with `stop`."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self.folder, self.java = folder, spark_java_home() / "bin" / "java"
        folder.mkdir(parents=True, exist_ok=True)
        self.python = bare_python(folder / "python")
        self._started: list[subprocess.Popen[bytes]] = []
        try:
            self._start("master", _MASTER, "--port", "0")
            self.master = self._said("master", r"Starting Spark master at (spark://\S+)")
            self.workers = [self.add_worker(number) for number in range(workers)]
            for number in range(workers):
                self._said(f"worker-{number}", r"(Successfully registered with master)")
        except BaseException:
            self.stop()
            raise

    def add_worker(self, number: int) -> subprocess.Popen[bytes]:
        """One more worker, with one core."""
        name = f"worker-{number}"
        return self._start(
            name, _WORKER, "--cores", "1", "--memory", "1g", "--work-dir", str(self.folder / name), self.master
        )

    def environment(self, *settings: str) -> dict[str, str]:
        """The environment of a program whose Spark this is, by `spark-defaults.conf` alone."""
        conf = self.folder / "conf"
        conf.mkdir(exist_ok=True)
        lines = [f"spark.master {self.master}", *_QUICK, *settings]
        (conf / "spark-defaults.conf").write_text("".join(f"{line}\n" for line in lines))
        return {
            **{name: value for name, value in os.environ.items() if name not in _OTHERS},
            "SPARK_CONF_DIR": str(conf),
            "PYSPARK_PYTHON": str(self.python),
            "SPARK_SUBMIT_OPTS": submit_options(),
            "PYTHONPATH": os.pathsep.join([*sys.path, os.environ.get("PYTHONPATH", "")]),
        }

    def stop(self) -> None:
        """End every process, the workers first: executors end with their worker."""
        for process in reversed(self._started):
            process.terminate()
        for process in self._started:
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self, name: str, of: str, *words: str) -> subprocess.Popen[bytes]:
        command = [str(self.java), "-Xmx256m", *_FLAGS, "-cp", f"{JARS}/*", of]
        address = ("--host", "127.0.0.1", "--webui-port", "0")
        env = {
            **{name: value for name, value in os.environ.items() if name not in (*_OTHERS, "PYTHONPATH")},
            "SPARK_HOME": str(Path(JARS).parent),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_SCALA_VERSION": "2.13",  # as sbin's scripts set it: else executors are not started
            "JAVA_HOME": str(self.java.parents[1]),
        }
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [*command, *address, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env,
                cwd=self.folder,
            )  # fmt: skip
        self._started.append(process)
        return process

    def _said(self, name: str, pattern: str) -> str:
        """What a process has written to its log."""
        end, log = time.monotonic() + LONGEST_START, self.folder / f"{name}.log"
        while not (found := re.search(pattern, text := log.read_text(errors="replace"))):
            assert time.monotonic() < end, text[-4000:]
            assert all(process.poll() is None for process in self._started), text[-4000:]
            time.sleep(0.05)
        return found[1]


_FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_QUICK = (
    "spark.driver.host 127.0.0.1",
    "spark.driver.bindAddress 127.0.0.1",
    "spark.ui.enabled false",
    "spark.sql.shuffle.partitions 4",  # of a stream each has a state store: with 200 it took a quarter of an hour
    "spark.sql.codegen.wholeStage false",  # of a few rows, compiling a query is a third of the time
    "spark.sql.codegen.factoryMode NO_CODEGEN",
    "spark.databricks.delta.snapshotPartitions 2",
    "spark.executor.memory 512m",
    "spark.executor.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
)
_OTHERS = ("SPARK_REMOTE", "PYSPARK_SUBMIT_ARGS", "PYSPARK_PYTHON", "MASTER", "SPARK_CONF_DIR", "SPARK_HOME")
"""What would name another Spark, or another Python for its workers."""


def bare_python(folder: Path) -> Path:
    """This Python in an environment with PACKAGES and what they need, linked from the tests' own, and nothing else."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    for place in sorted({place for package in PACKAGES for place in _places(package)}):
        (site / place.name).symlink_to(place)
    return folder / "bin" / "python"


def _places(package: str) -> Sequence[Path]:
    """The folders and modules of a package and of those that it requires."""
    distribution = metadata.distribution(package)
    names = {file.parts[0] for file in distribution.files or () if ".." not in file.parts and file.parts[0][0] != "."}
    required = [word for word in distribution.requires or () if "extra ==" not in word]
    further = [re.split(r"[\s<>=!~;\[(]", word)[0] for word in required]
    own = [Path(str(distribution.locate_file(name))) for name in names if not name.endswith("__pycache__")]
    return [*own, *(place for name in further if _is_installed(name) for place in _places(name))]


def _is_installed(package: str) -> bool:
    try:
        metadata.distribution(package)
    except metadata.PackageNotFoundError:
        return False
    return True
