"""Many clients of a real cluster: which engine resolves them, and that both say the same."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet
import pytest

import kadmin_nb as kn
from kadmin_nb.cluster import resolving
from kadmin_nb.commands.answer_formats import fitted_lines
from kadmin_nb.frames import spark as sparks
from kadmin_nb.frames.lazy_answer import SparkAnswer

pytestmark = [pytest.mark.spark, pytest.mark.secure]

CLIENTS = pa.table(
    {"user": ["engines-a", "engines-b", "nobody"], "client_id": ["app", "web", "app"], "more": [1, 2, 3]}
)
KEY = "producer_byte_rate"


@pytest.fixture(scope="module")
def cluster(secure_kafka):
    with secure_kafka.connect() as connected:
        stage = connected.new_stage()
        stage.set_quota(KEY, "1MB/s", user="engines-a")
        stage.set_quota(KEY, "2MB/s", user="engines-b", client_id=kn.DEFAULT)
        stage.plan().apply().raise_for_errors()
        yield connected


def limits(answer) -> dict[tuple[str, str], float | None]:
    return {(row["user"], row["client_id"]): row["value"] for row in answer.to_arrow().to_pylist()}


def said(answer) -> str:
    return answer.to_arrow().schema.metadata.get(b"kadmin.engine", b"").decode()


@pytest.fixture
def pairs(spark, tmp_path):
    """The clients in every form that pairs come in."""
    place = tmp_path / "clients.parquet"
    pyarrow.parquet.write_table(CLIENTS, place)
    return {"spark": spark.createDataFrame(CLIENTS), "arrow": CLIENTS, "pandas": CLIENTS.to_pandas(), "file": place}


@pytest.mark.parametrize(
    ("form", "engine"),
    [("spark", "arrow"), ("pandas", "arrow"), ("spark", "spark"), ("arrow", "spark"), ("file", "spark")],
)
def test_both_engines_say_the_same(cluster, pairs, form, engine):
    """On Spark my client had another limit."""
    answer = cluster.quotas.resolve(pairs=pairs[form], keys=[KEY], engine=engine)
    assert limits(answer) == {("engines-a", "app"): 1e6, ("engines-b", "web"): 2e6, ("nobody", "app"): None}
    assert isinstance(answer, SparkAnswer) is (engine == "spark")
    assert said(answer) == (engine if engine == "spark" else "")


@pytest.mark.parametrize("form", ["spark", "arrow", "file"])
def test_their_number_decides_and_it_says_so(cluster, pairs, form, monkeypatch):
    """Ten million clients went through one process, and nobody knew."""
    assert said(cluster.quotas.resolve(pairs=pairs[form])) == ""
    monkeypatch.setattr(resolving, "ARROW_PAIRS", 2)
    answer = cluster.quotas.resolve(pairs=pairs[form], keys=[KEY])
    assert said(answer) == "spark"
    assert len(answer) == 3


def test_no_session_is_started_unasked(cluster, monkeypatch):
    """A Java came up because my list was long."""
    monkeypatch.setattr(resolving, "ARROW_PAIRS", 2)
    monkeypatch.setattr(sparks, "active_session", lambda: None)
    monkeypatch.setattr(sparks, "spark_session", lambda: pytest.fail("nobody asked for Spark"))
    answer = cluster.quotas.resolve(pairs=CLIENTS)
    assert type(answer) is not SparkAnswer
    assert said(answer) == ""


def test_an_answer_in_spark_shows_its_head(cluster, spark):
    """It read all of it to show sixty rows."""
    many = spark.range(100).selectExpr("concat('u', id) as user", "'app' as client_id")
    shown = repr(cluster.quotas.resolve(pairs=many, keys=[KEY], engine="spark"))
    assert "the first 60 rows shown, in Spark" in shown
    assert shown.endswith("worked out on Spark")
    assert "the first 60 rows" in cluster.quotas.resolve(pairs=many, keys=[KEY], engine="spark")._repr_html_()


def test_an_answer_in_spark_goes_whole_into_a_pipe(cluster, spark):
    """`kadmin-nb quota resolve … > all.txt` had sixty of its hundred clients."""
    many = spark.range(100).selectExpr("concat('u', id) as user", "'app' as client_id")
    said = list(fitted_lines(cluster.quotas.resolve(pairs=many, keys=[KEY], engine="spark"), io.StringIO()))
    assert sorted(line.split()[0] for line in said[1:101]) == sorted(f"user=u{number}" for number in range(100))
    assert said[101].startswith("100 rows")


def test_what_spark_cannot_read_is_one_line(cluster, spark):
    """A row without a user gave two pages of Java."""
    broken = spark.sql("select cast(null as string) as user, 'app' as client_id, 'pw' as more")
    answer = cluster.quotas.resolve(pairs=broken, engine="spark")
    with pytest.raises(kn.Invalid, match="user is null in a row of") as refused:
        repr(answer)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("engine", [None, "arrow", "spark"])
def test_a_missing_column_is_named(cluster, spark, engine):
    """A KeyError, of a table that is not mine."""
    for pairs in (spark.sql("select 'a' as usr, 'b' as client_id"), pa.table({"usr": ["a"], "client_id": ["b"]})):
        with pytest.raises(kn.UsageError, match="no column user"):
            cluster.quotas.resolve(pairs=pairs, engine=engine)


@pytest.mark.parametrize("engine", ["arrow", "spark"])
def test_clients_of_several_clusters_are_no_clients_of_this_one(cluster, spark, engine):
    """Two fleets in one lake table, and all got the limits of one."""
    mixed = spark.sql("select 'there' as cluster_id, 'a' as user, 'b' as client_id")
    with pytest.raises(kn.UsageError, match="cluster_id"):
        cluster.quotas.resolve(pairs=mixed, engine=engine)
