"""A request log whose lines somebody has put into a table already, as lakes have them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import kadmin_nb as kn

pytestmark = pytest.mark.spark

RECORDED = Path(__file__).parent / "recorded"
BROKER = r"broker-(\d+)/"


@pytest.fixture
def lines(spark):
    """The recorded lines, as `path` and `line`."""
    rows = [
        {"path": str(file.relative_to(RECORDED)), "line": line}
        for file in sorted(RECORDED.rglob("request.log*"))
        for line in file.read_text().splitlines()
    ]
    return spark.createDataFrame(pa.Table.from_pylist([*rows, {"path": "broker-1/x", "line": "no request"}]))


def test_lines_of_a_table_are_those_of_the_files(spark, lines):
    """Only files were taken, and our log is in a Delta table."""
    of_lines = kn.usage.requests(lines, spark=spark, broker=BROKER, tz="UTC")
    of_files = kn.usage.requests(str(RECORDED), spark=spark, broker=BROKER, tz="UTC")
    key = ["broker", "time", "connection", "correlation_id"]
    assert sorted(of_lines.frame.select(key).collect()) == sorted(of_files.frame.select(key).collect())
    assert [tuple(row) for row in of_lines.quarantine.where("line = 'no request'").select("path").collect()] == [
        ("broker-1/x",)
    ]


def test_lines_without_paths_are_one_brokers(spark, lines):
    """A table with lines and nothing else was refused."""
    of_one = lines.where("path like 'broker-1/%'")
    for texts in ("line", "line AS value", "cast(line AS binary) AS value"):
        found = kn.usage.requests(of_one.selectExpr(texts), broker=1, tz="UTC")
        assert {row.broker for row in found.frame.select("broker").distinct().collect()} == {1}
    with pytest.raises(kn.UsageError, match="the path the lines does not match"):
        kn.usage.requests(lines.select("line"), spark=spark, broker=BROKER, tz="UTC")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines.withColumnRenamed("line", "text"), "the lines have no column line"),
        (lambda lines: lines.selectExpr("length(line) as line"), "line of the lines is int, not text"),
        (lambda lines: lines.where("false"), "no line in the lines"),
        (lambda lines: lines.where("line = 'no request'"), "is not a request log of Kafka"),
    ],
    ids=["no line", "numbers", "empty", "another log"],
)
def test_what_holds_no_lines_is_one_line(spark, lines, change, said):
    """[UNRESOLVED_COLUMN.WITH_SUGGESTION], and forty lines more."""
    with pytest.raises(kn.KadminError, match=said):
        kn.usage.requests(change(lines), spark=spark, broker=1, tz="UTC")
