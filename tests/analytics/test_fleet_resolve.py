"""What binds each client of a whole fleet, on Spark: the same rows as everywhere else."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark import cloudpickle
from pyspark.errors import SparkRuntimeException
from pyspark.sql import functions as F

import kadmin_nb as kn
from kadmin_nb.fleets import fleet_resolving, workers
from kadmin_nb.frames import schemas
from kadmin_nb.model.quota_keys import USER_CLIENT_KEYS
from kadmin_nb.resolution.kernel import Index
from kadmin_nb.resolution.rules import explain, stored_of
from tests.analytics.fleets import in_clusters, pairs_of_a_fleet, quotas_of_a_fleet, rows

pytestmark = pytest.mark.spark

QUOTAS, PAIRS = quotas_of_a_fleet(1), pairs_of_a_fleet(2)


def frame(spark, table: pa.Table):
    return kn.Answer(table).to_spark(spark)


PLAIN = """
WITH asked AS (SELECT note, user, coalesce(client_id, '') AS client_id, key FROM {pairs} CROSS JOIN {keys}),
candidates AS (
    SELECT *, inline(array(
        struct(0 AS n, 'CLIENT_OF_USER' AS level, user AS u, client_id AS c),
        struct(1 AS n, 'DEFAULT_CLIENT_OF_USER' AS level, user AS u, null AS c),
        struct(2 AS n, 'USER' AS level, user AS u, null AS c),
        struct(3 AS n, 'CLIENT_OF_DEFAULT_USER' AS level, null AS u, client_id AS c),
        struct(4 AS n, 'DEFAULT_CLIENT_OF_DEFAULT_USER' AS level, null AS u, null AS c),
        struct(5 AS n, 'DEFAULT_USER' AS level, null AS u, null AS c),
        struct(6 AS n, 'CLIENT' AS level, null AS u, client_id AS c),
        struct(7 AS n, 'DEFAULT_CLIENT' AS level, null AS u, null AS c))) FROM asked),
fitting AS (
    SELECT a.*, q.value, row_number() OVER (PARTITION BY a.note, a.key ORDER BY a.n) AS place
    FROM candidates a JOIN {quotas} q
    ON a.level = q.level AND a.u <=> q.user AND a.c <=> q.client_id AND a.key = q.key
    WHERE a.client_id <> '' OR a.n IN (2, 5))
SELECT asked.user, asked.client_id, asked.key, f.value, f.level,
    CASE WHEN f.n <= 5 THEN asked.user WHEN f.n >= 6 THEN '' END AS bucket_user,
    CASE WHEN f.n IN (2, 5) THEN '' WHEN f.n >= 0 THEN asked.client_id END AS bucket_client_id
FROM asked LEFT JOIN fitting f ON asked.note = f.note AND asked.key = f.key AND f.place = 1
"""
"""The rule as anyone would write it: explode the candidates, join, take the first. Empty users are left out."""


def test_row_for_row_like_the_plain_form(spark) -> None:
    """Two notebooks of one team found different limits for one client."""
    quotas, pairs = frame(spark, QUOTAS), frame(spark, pairs_of_a_fleet(3, empty_users=False))
    keys = frame(spark, pa.table({"key": list(USER_CLIENT_KEYS)}))
    plain = spark.sql(PLAIN, quotas=quotas, pairs=pairs, keys=keys)
    found = kn.fleets.resolve(quotas, pairs)
    assert rows(found.toArrow()) == rows(plain.toArrow())


def test_the_samples_are_what_the_scalar_rule_says(spark) -> None:
    """`%kquota resolve` said one thing and the fleet's table another."""
    held = stored_of(QUOTAS.to_pylist())
    found = kn.fleets.resolve(frame(spark, QUOTAS), frame(spark, PAIRS)).toArrow().to_pylist()
    for row in found[::97]:
        (one,) = explain(held, row["user"], row["client_id"], [row["key"]])
        bucket = one.bucket or (None, None)
        assert (row["value"], row["level"]) == (one.value, one.level)
        assert (row["bucket_user"], row["bucket_client_id"]) == bucket


@pytest.mark.parametrize(
    "options", [{}, {"overridden": True}, {"shape": "wide"}, {"keys": ["consumer_byte_rate", "x"]}]
)
def test_it_is_kn_resolve(spark, options) -> None:
    """Spark had other columns than Arrow, and a client with an empty user other limits."""
    found = kn.fleets.resolve(frame(spark, QUOTAS), frame(spark, PAIRS), **options)
    wanted = kn.resolve(QUOTAS, PAIRS, **options)
    assert found.columns == wanted.column_names
    assert found.schema.simpleString() == frame(spark, wanted.slice(0, 0)).schema.simpleString()
    assert rows(found.toArrow()) == rows(wanted)


def test_more_keys_than_fit_a_word(spark) -> None:
    """A broker of a version to come had sixteen keys, and the eighth had the level of the first."""
    column = QUOTAS.schema.get_field_index("key")
    names = QUOTAS["key"].cast(pa.string())
    copies = [QUOTAS.set_column(column, "key", pc.binary_join_element_wise(names, word, "-")) for word in "abcd"]
    quotas, keys = pa.concat_tables(copies), [f"{key}-{word}" for word in "abcd" for key in USER_CLIENT_KEYS]
    found = kn.fleets.resolve(frame(spark, quotas), frame(spark, PAIRS), keys=keys)
    assert rows(found.toArrow()) == rows(kn.resolve(quotas, PAIRS, keys=keys))


def test_several_clusters_at_once(spark) -> None:
    """One cluster's client was given another's limit."""
    quotas = in_clusters([quotas_of_a_fleet(n, 150) for n in (4, 5)])
    pairs = in_clusters([pairs_of_a_fleet(n, 300) for n in (6, 7, 8)])
    found = kn.fleets.resolve(frame(spark, quotas), frame(spark, pairs), overridden=True)
    wanted = kn.resolve(quotas, pairs, overridden=True)
    assert found.columns == wanted.column_names
    assert rows(found.toArrow()) == rows(wanted)


@pytest.mark.parametrize("options", [{}, {"overridden": True}, {"shape": "wide"}])
def test_nobody_and_nothing(spark, options) -> None:
    """An empty cluster, or an empty lake, gave a frame with other columns."""
    for quotas, pairs in ((QUOTAS.slice(0, 0), PAIRS), (QUOTAS, PAIRS.slice(0, 0))):
        found = kn.fleets.resolve(frame(spark, quotas), frame(spark, pairs), **options).toArrow()
        assert rows(found) == rows(kn.resolve(quotas, pairs, **options))
        assert found.column_names == kn.resolve(quotas, pairs, **options).column_names


def test_no_keys_is_an_empty_frame(spark) -> None:
    assert kn.fleets.resolve(QUOTAS, frame(spark, PAIRS), keys=[]).columns == schemas.EFFECTIVE.names
    assert kn.fleets.resolve(QUOTAS, frame(spark, PAIRS), keys=[]).count() == 0
    assert kn.fleets.resolve(QUOTAS, frame(spark, PAIRS), keys=[], shape="wide").columns == ["user", "client_id"]


def test_batches_of_any_size(spark, monkeypatch) -> None:
    """The last rows of a large frame were missing, and quotas of the second batch."""
    monkeypatch.setattr(fleet_resolving, "ROWS", 500)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "300")
    try:
        found = kn.fleets.resolve(frame(spark, QUOTAS), frame(spark, PAIRS), shape="wide").toArrow()
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert rows(found) == rows(kn.resolve(QUOTAS, PAIRS, shape="wide"))


@pytest.mark.parametrize("form", ["arrow", "pandas", "answer"])
def test_quotas_come_from_anywhere(spark, form) -> None:
    """The quotas had to be put into Spark first, whatever they were."""
    forms = {"arrow": QUOTAS, "pandas": kn.Answer(QUOTAS).to_pandas(), "answer": kn.Answer(QUOTAS)}
    found = kn.fleets.resolve(forms[form], frame(spark, PAIRS), keys="producer_byte_rate")
    assert rows(found.toArrow()) == rows(kn.resolve(QUOTAS, PAIRS, keys="producer_byte_rate"))


def plan_of(df, capsys) -> str:
    """The physical plan as `explain` shows it."""
    capsys.readouterr()
    df.explain()
    return capsys.readouterr().out


def test_pairs_are_not_shuffled(spark, capsys) -> None:
    """Ten million pairs went over the network to meet a table of a few thousand quotas."""
    for shape in ("long", "wide"):
        plan = plan_of(kn.fleets.resolve(frame(spark, QUOTAS), frame(spark, PAIRS), shape=shape), capsys)
        assert "MapInArrow" in plan
        assert "Exchange" not in plan


def test_too_many_quotas_are_refused(spark, monkeypatch) -> None:
    """A fleet's quotas of ten million rows ended in a gRPC error."""
    monkeypatch.setattr(fleet_resolving, "MOST_QUOTAS", 10)
    for quotas in (QUOTAS, frame(spark, QUOTAS)):
        with pytest.raises(kn.Invalid, match="more than 10 quotas are too many"):
            kn.fleets.resolve(quotas, frame(spark, PAIRS))


@pytest.mark.parametrize("length", [200, 300, 30_000])
def test_a_name_of_any_length(spark, length) -> None:
    """A principal as long as a certificate's subject was left out, and its client had no limit."""
    user = "CN=" + "é" * length
    quotas = pa.table(
        {
            "level": ["USER"],
            "user": [user],
            "client_id": pa.nulls(1, pa.string()),
            "key": ["producer_byte_rate"],
            "value": [5.0],
        }
    )
    pairs = pa.table({"user": [user, "CN="], "client_id": ["app", "app"]})
    found = kn.fleets.resolve(frame(spark, quotas), frame(spark, pairs), keys="producer_byte_rate")
    assert rows(found.toArrow()) == rows(kn.resolve(quotas, pairs, keys="producer_byte_rate"))


def test_a_key_is_taken_out_of_the_long_form(spark) -> None:
    """A filter on the key gave rows of other keys."""
    found = kn.fleets.resolve(QUOTAS, frame(spark, PAIRS)).where(F.col("key") == "request_percentage")
    assert rows(found.toArrow()) == rows(kn.resolve(QUOTAS, PAIRS, keys="request_percentage"))


REFUSED = {
    "no user column": (QUOTAS, PAIRS.drop_columns("user"), "the pairs have no column user", "note, client_id"),
    "no level column": (QUOTAS.drop_columns("level"), PAIRS, "the quotas have no column level", "entity, user"),
    "users are numbers": (QUOTAS, PAIRS.drop_columns("user").append_column("user", PAIRS["note"]), "user of the pairs "
        "is bigint, not text", None),
    "clusters of quotas only": (in_clusters([QUOTAS]), PAIRS, "the quotas have a cluster_id and the pairs have none",
        "both"),
    "clusters of pairs only": (QUOTAS, in_clusters([PAIRS]), "the pairs have a cluster_id and the quotas have none",
        "both"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_frames_that_are_none(spark, case) -> None:
    """Spark said UNRESOLVED_COLUMN, and which frame it was, nobody could tell."""
    quotas, pairs, message, hint = REFUSED[case]
    with pytest.raises(kn.UsageError, match=message) as raised:
        kn.fleets.resolve(frame(spark, quotas), frame(spark, pairs))
    assert hint is None or hint in raised.value.hint


def test_words_that_make_no_sense(spark) -> None:
    pairs = frame(spark, PAIRS)
    for options in ({"shape": "tall"}, {"shape": "wide", "overridden": True}, {"keys": ["a", "a"]}):
        with pytest.raises(kn.UsageError):
            kn.fleets.resolve(QUOTAS, pairs, **options)
    with pytest.raises(kn.UsageError, match="the pairs are a Table, not a Spark DataFrame"):
        kn.fleets.resolve(QUOTAS, PAIRS)
    with pytest.raises(kn.UsageError, match="the quotas are a list, not a frame"):
        kn.fleets.resolve([], pairs)


def test_a_null_user_is_refused_with_its_row(spark) -> None:
    """A log line without a principal was taken for a client without limits."""
    pairs = pa.table({"user": pa.array(["alice", None]), "client_id": ["app", "a\nb\u202e"]})
    found = kn.fleets.resolve(QUOTAS, frame(spark, pairs))
    with pytest.raises(SparkRuntimeException, match="user is null in a row of the pairs") as raised:
        found.toArrow()
    said = str(raised.value)
    assert '"user":null' in said
    assert r'"client_id":"a\nb' in said
    assert "\u202e" not in said


def test_a_null_cluster_is_refused_with_its_row(spark) -> None:
    pairs = pa.table({"user": ["alice"], "client_id": ["app"], "cluster_id": pa.nulls(1, pa.string())})
    with pytest.raises(SparkRuntimeException, match=r"cluster_id is null in a row of the pairs.*alice"):
        kn.fleets.resolve(in_clusters([QUOTAS]), frame(spark, pairs)).toArrow()


def test_a_quota_that_is_there_twice_is_refused(spark) -> None:
    """Two snapshots in one frame, and which of them won depended on the weather."""
    its = QUOTAS.filter(pc.equal(QUOTAS["level"], "CLIENT_OF_USER")).slice(0, 1)
    with pytest.raises(kn.Invalid, match="is twice in the quotas"):
        kn.fleets.resolve(frame(spark, pa.concat_tables([QUOTAS, its])), frame(spark, PAIRS)).toArrow()


@pytest.mark.parametrize(("column", "value"), [("user", None), ("client_id", ""), ("value", None)])
def test_a_quota_that_is_none_is_refused(spark, column, value) -> None:
    """A quota without a name was dropped in silence."""
    row = {"level": "CLIENT_OF_USER", "user": "alice", "client_id": "x", "key": "producer_byte_rate", "value": 1.0}
    quotas = pa.Table.from_pylist([*QUOTAS.select(list(row)).to_pylist(), row | {column: value}])
    with pytest.raises(kn.Invalid, match=column):
        kn.fleets.resolve(frame(spark, quotas), frame(spark, PAIRS))


def test_workers_need_no_kadmin_nb(spark) -> None:
    """On the cluster every task died of `No module named 'kadmin_nb'`; over Connect the workers here have none."""
    index = Index.of(QUOTAS, "producer_byte_rate")
    kept, names = ["user", "client_id"], ["user", "client_id", "value", "level"]
    work = workers.by_value(fleet_resolving.on_workers, (index.tables, kept, names))
    given = pa.table({"user": ["alice"], "client_id": ["app"]})
    packed = pickle.dumps((cloudpickle.dumps(work), given.to_batches()))
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], input=packed, capture_output=True, check=True)
    wanted = kn.resolve(QUOTAS, given, keys="producer_byte_rate")["value"].to_pylist()
    assert done.stdout.decode().strip() == str(wanted)


ELSEWHERE = """
import pickle, sys
sys.modules["kadmin_nb"] = None
work, batches = pickle.load(sys.stdin.buffer)
print([value for batch in pickle.loads(work)(iter(batches)) for value in batch.column("value").to_pylist()])
"""


def test_over_connect_workers_have_none(spark) -> None:
    """The proof above was worth nothing where the workers found the package anyway."""

    def imports(batches):
        for _ in batches:
            try:
                import kadmin_nb

                yield pa.RecordBatch.from_pydict({"found": [kadmin_nb.__name__]})
            except ImportError as error:
                yield pa.RecordBatch.from_pydict({"found": [str(error)]})

    said = spark.range(1).mapInArrow(imports, "found string").first()[0]
    assert ("workers have no kadmin_nb" in said) == ("connect" in type(spark).__module__)
