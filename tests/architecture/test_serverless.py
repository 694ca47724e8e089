"""What serverless compute on Databricks lacks is not used by anything that runs there.

From Databricks' page "Serverless compute limitations", its list of the Spark properties that may be set, and what
Spark Connect leaves out; read in November 2026.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CONNECT = "Spark Connect has no such thing"
CACHES = "DataFrames and tables cannot be cached, uncached or refreshed there"
OURS = "the platform starts and stops the session"
NAMES = {
    **dict.fromkeys(("sparkContext", "_sc", "_jsc", "_jvm", "_jdf", "_jsparkSession", "rdd", "toJSON"), CONNECT),
    **dict.fromkeys(("parallelize", "textFile", "wholeTextFiles", "mapPartitions", "accumulator"), CONNECT),
    **dict.fromkeys(("sqlContext", "SQLContext", "HiveContext", "enableHiveSupport", "registerJavaFunction"), CONNECT),
    **dict.fromkeys(("setLogLevel", "setCheckpointDir", "setJobGroup", "setLocalProperty", "addFile"), CONNECT),
    **dict.fromkeys(("foreach", "foreachPartition", "foreachBatch"), "it runs code where neither we nor Kafka are"),
    **dict.fromkeys(("cache", "persist", "unpersist", "cacheTable", "uncacheTable", "clearCache"), CACHES),
    **dict.fromkeys(("refreshTable", "refreshByPath"), CACHES),
    **dict.fromkeys(("checkpoint", "localCheckpoint"), "there is no folder for it"),
    **dict.fromkeys(("createGlobalTempView", "createOrReplaceGlobalTempView"), "there are no global temporary views"),
    **dict.fromkeys(("master", "remote", "stop", "newSession"), OURS),
    **dict.fromkeys(("writeStream", "readStream"), "a stream has no trigger there but availableNow"),
}
"""Attributes, and why not."""

MODULES = ("py4j", "pyspark.rdd", "pyspark.context", "pyspark.streaming", "pyspark.mllib", "pyspark.sql.classic")
PROPERTIES = {
    "spark.databricks.execution.timeout",
    "spark.sql.ansi.enabled",
    "spark.sql.files.maxPartitionBytes",
    "spark.sql.legacy.timeParserPolicy",
    "spark.sql.session.timeZone",
    "spark.sql.shuffle.partitions",
}
"""Those that are known there. Any other raises when it is set, and when it is read with a default, too."""

TEXTS = {
    r"^\s*(UN)?CACHE\s+(LAZY\s+)?TABLE\b|^\s*REFRESH\s+(TABLE|\W|\w+\.)|^\s*CLEAR\s+CACHE\b": CACHES,
    r"\bglobal_temp\.": "there are no global temporary views",
    r"^\s*ADD\s+(JAR|FILE|ARCHIVE)\b|^\s*CREATE\s+(TEMPORARY\s+)?FUNCTION\b": "there are no JARs",
    r"\bSTORED\s+AS\b|\bROW\s+FORMAT\b|\bUSING\s+HIVE\b": "there is no Hive",
    r"^dbfs:/|^/dbfs/|^/mnt/": "there is no DBFS; /Volumes is where files are",
}
"""What a text that is handed to Spark may not hold."""

KNOWN = {
    ("kadmin_nb/frames/spark.py", "master"): "a session of our own, where there is none and this is no Databricks",
    ("kadmin_nb/frames/spark.py", "spark.sql.extensions"): "asked of a Spark of spark-submit",
}
"""What is there all the same, and never reached on Databricks, or caught."""


def _sources() -> Iterator[Path]:
    package = ROOT / "kadmin_nb"
    yield from (*package.glob("fleets/*.py"), *package.glob("usage/*.py"), *package.glob("sql/*.py"))
    yield from (
        package / "frames/relational.py",
        package / "state/catalog.py",
        package / "frames/spark.py",
        package / "frames/lazy_answer.py",
    )
    yield from package.glob("policy/**/*.py")
    yield from (place for folder in ("databricks", "notebooks/runbooks") for place in ROOT.glob(f"{folder}/**/*.ipynb"))
    yield from ROOT.glob("databricks/**/*.py")


SOURCES = sorted(_sources())


def _text_of(source: Path) -> str:
    """Python; of a notebook the cells, magics and shell lines left blank."""
    if source.suffix != ".ipynb":
        return source.read_text()
    cells = (cell for cell in json.loads(source.read_text())["cells"] if cell["cell_type"] == "code")
    return "\n".join(re.sub(r"(?m)^\s*[%!].*$", "", "".join(cell["source"])) for cell in cells)


def _offences(text: str) -> Iterator[tuple[int, str, str]]:
    """The line, what stands there, and why it may not."""
    tree = ast.parse(text)
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in NAMES:
            yield node.lineno, node.attr, NAMES[node.attr]
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((node.lineno, name, CONNECT) for name in _imported(node) if _is_within(name, MODULES))
        elif isinstance(node, ast.Call):
            yield from ((node.lineno, key, "it is no property there") for key in _properties(node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            found = (why for pattern, why in TEXTS.items() if re.search(pattern, node.value, re.IGNORECASE))
            yield from ((node.lineno, node.value, why) for why in found)


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)] if not node.level else []


def _is_within(name: str, modules: tuple[str, ...]) -> bool:
    return name == "pyspark.SparkContext" or any(name == one or name.startswith(f"{one}.") for one in modules)


def _properties(call: ast.Call) -> list[str]:
    """What `….conf.get(…)`, `….conf.set(…)` and `….conf.unset(…)` name, and is not known there."""
    of = call.func.value if isinstance(call.func, ast.Attribute) else None
    if not (isinstance(of, ast.Attribute) and of.attr == "conf" and call.args):
        return []
    key = call.args[0]
    name = key.value if isinstance(key, ast.Constant) else ast.unparse(key)
    return [] if name in PROPERTIES else [str(name)]


@pytest.mark.parametrize("source", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_that_serverless_compute_lacks(source: Path) -> None:
    """[JVM_ATTRIBUTE_NOT_SUPPORTED], in the middle of the night."""
    place = str(source.relative_to(ROOT))
    found = [
        f"{place}:{line}: {what}: {why}"
        for line, what, why in _offences(_text_of(source))
        if (place, what) not in KNOWN
    ]
    assert not found, "\n".join(found)


def test_what_is_excused_is_there() -> None:
    """The exception outlived the code that it was made for, and covered other code."""
    found = {(str(s.relative_to(ROOT)), what) for s in SOURCES for _, what, _ in _offences(_text_of(s))}
    assert set(KNOWN) <= found


@pytest.mark.parametrize(
    "line",
    [
        "spark.sparkContext.setLogLevel('ERROR')",
        "frame.rdd.getNumPartitions()",
        "spark._jvm.java.lang.System.getenv()",
        "frame.cache().count()",
        "frame.persist()",
        "spark.catalog.refreshTable('t')",
        "spark.sql('REFRESH TABLE t')",
        "spark.sql(f'cache table {name}')",
        "frame.createOrReplaceGlobalTempView('v')",
        "spark.table('global_temp.v')",
        "frame.foreach(print)",
        "frame.writeStream.toTable('t')",
        "spark.conf.set('spark.executor.memory', '4g')",
        "spark.conf.get('spark.app.name', 'none')",
        "spark.conf.get(name)",
        "spark.read.text('dbfs:/logs')",
        "spark.stop()",
        "from pyspark import SparkContext",
        "import py4j.java_gateway",
    ],
)
def test_each_lack_is_found(line: str) -> None:
    """The check passed everything."""
    assert list(_offences(line))


@pytest.mark.parametrize(
    "line",
    [
        "spark.conf.set('spark.sql.session.timeZone', 'UTC')",
        "frame.mapInArrow(work, schema)",
        "F.broadcast(spark.createDataFrame(table))",
        "frame.createOrReplaceTempView('v')",
        "'''We used to call frame.cache() here; REFRESH TABLE too.'''",
        "spark.read.text('/Volumes/main/kafka/logs')",
    ],
)
def test_the_rest_passes(line: str) -> None:
    """The check passed nothing."""
    assert not list(_offences(line))
