"""A chart takes the Contract's frames, of any size, and says what it shows."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.charts.showing import headline, svg
from kadmin_nb.frames import schemas
from tests.charts.charted_frames import CHARTS, MIDNIGHT, effective, texts_of

pytestmark = pytest.mark.slow  # Altair takes seconds to start

every_chart = pytest.mark.parametrize("name", CHARTS)


def _specification(chart: Any) -> dict[str, Any]:
    specification: dict[str, Any] = chart.to_dict()
    return specification


@every_chart
def test_arrow_pandas_and_answers_give_the_same_chart(name: str) -> None:
    """The chart of my DataFrame was another than the chart of its answer."""
    draw, frame = CHARTS[name]
    table = frame(12)
    drawn = [_specification(draw(form)) for form in (table, kn.Answer(table).to_pandas(), kn.Answer(table))]
    assert drawn[0] == drawn[1] == drawn[2]


@every_chart
def test_no_rows_are_a_sentence(name: str) -> None:
    """A quiet cluster gave a stack trace instead of an empty picture."""
    draw, frame = CHARTS[name]
    chart = draw(frame(0))
    assert len(headline(chart)) > 10
    assert "<svg" in svg(chart)


@pytest.mark.slow
@every_chart
def test_many_rows_are_a_small_picture(name: str) -> None:
    """A chart of the fleet froze the browser: 100,000 rows were in it."""
    draw, frame = CHARTS[name]
    chart = draw(frame(100_000, "x" * 60))
    assert len(json.dumps(_specification(chart))) < 100_000
    assert any(char.isdigit() for char in headline(chart))


def test_a_frame_that_is_none() -> None:
    """A chart of a list printed a stack trace."""
    with pytest.raises(kn.UsageError, match="the effective quotas are a list, not a frame"):
        kn.charts.effective([1])


def test_a_frame_of_other_columns() -> None:
    """A chart of the wrong frame was empty, and nobody knew why."""
    with pytest.raises(kn.UsageError, match="the effective quotas have no column value, level"):
        kn.charts.effective(effective(3).drop_columns(["value", "level"]))


def test_unlimited_zero_and_not_resolved_are_told_apart() -> None:
    """A client without a limit looked like one with a limit of 0."""
    table = effective(3)
    other = table.slice(2, 1).set_column(2, "key", [["consumer_byte_rate"]]).cast(table.schema)
    chart = kn.charts.effective(_both(table, other))
    rows = [row for values in chart.to_dict()["datasets"].values() for row in values]
    assert {row["state"] for row in rows} == {"unlimited", "zero", "limited", "not resolved"}
    assert {row["text"] for row in rows} == {"unlimited", "0 B/s", "5 MB/s", "–"}
    assert [svg(chart).count(look) for look in ('fill="#D55E00"', 'stroke="currentColor" stroke-opacity="0.35"')] == [
        1,
        1,
    ]


def _both(*tables: Any) -> Any:
    import pyarrow as pa

    return pa.concat_tables(tables).unify_dictionaries()


def test_names_that_are_shortened_alike_stay_apart() -> None:
    """Two long names were one row of the chart."""
    texts = [text for text in texts_of(kn.charts.effective(effective(6, "x" * 100))) if "…" in text]
    assert len({*texts}) == 6
    assert max(map(len, texts)) < 120


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("effective", "34 of 100 clients are unlimited in producer_byte_rate"),
        ("usage and limits", "6 of these 6 limits were exceeded"),
        ("backtest", "50 of 100 buckets would have been throttled"),
        ("plan", "33 lower, 17 higher, 17 newly set, 17 removed"),
    ],
)
def test_titles_say_the_finding(name: str, title: str) -> None:
    """The title of the chart was the name of its columns."""
    draw, frame = CHARTS[name]
    assert headline(draw(frame(100))) == title


def test_a_client_counts_once() -> None:
    """*All 205 clients*, of the five in a usage that was given as the clients."""
    frame = effective(10)
    chart = kn.charts.effective(pa.concat_tables([frame] * 41))
    assert headline(chart) == headline(kn.charts.effective(frame))


def test_use_that_is_unknown_is_counted_and_not_drawn() -> None:
    """A share consumer was drawn as one that used nothing, or was an error."""
    draw, frame = CHARTS["usage"]
    table = frame(12)
    unknown = table.set_column(table.column_names.index("value"), "value", pa.nulls(len(table), pa.float64())).cast(
        table.schema
    )
    assert headline(draw(unknown)) == "It is unknown how much was used"
    renamed = unknown.set_column(table.column_names.index("user"), "user", pa.array(["sharer"] * len(table))).cast(
        table.schema
    )
    assert "is unknown, and not drawn" in str(_specification(draw(pa.concat_tables([table, renamed])))["title"])


def _quotas(*rows: tuple[str, str, str | None, str]) -> pa.Table:
    """QUOTAS of an entity, its level, its client-id and a key each."""
    columns = ("entity", "level", "client_id", "key")
    return schemas.table(schemas.QUOTAS, [{**dict(zip(columns, row, strict=True)), "value": 1e6} for row in rows])


def test_shadowed_quotas_look_like_no_other() -> None:
    """Half of the boxes were limits that nobody is bound by, and they looked like all others."""
    rate, share = "producer_byte_rate", "request_percentage"
    frame = _quotas(
        ("user=<default>", "DEFAULT_USER", None, rate),
        ("user=<default> client-id=app", "CLIENT_OF_DEFAULT_USER", "app", share),
        ("client-id=app", "CLIENT", "app", rate),
        ("client-id=app", "CLIENT", "app", share),
        ("client-id=etl", "CLIENT", "etl", rate),
        ("client-id=etl", "CLIENT", "etl", share),
        ("client-id=<default>", "DEFAULT_CLIENT", None, rate),
    )
    chart = kn.charts.hierarchy(frame)
    rows = [row for values in chart.to_dict()["datasets"].values() for row in values if "shadowed" in row]
    struck = {(row["entity"], row["key"]): row["winner"] for row in rows if row["shadowed"]}
    assert struck == {
        ("client-id=app", rate): "user=<default>",
        ("client-id=app", share): "user=<default> client-id=app",
        ("client-id=etl", rate): "user=<default>",
        ("client-id=<default>", rate): "user=<default>",
    }
    assert headline(chart) == "7 limits of 5 entities"
    assert "struck through" in svg(chart)
    assert "struck through" not in svg(kn.charts.hierarchy(frame.slice(2, 2)))


def test_a_client_id_is_drawn_with_the_quota_that_shadows_it() -> None:
    """A limit that never applies was not struck through: what comes before it was not among the first names."""
    shadowing = [(f"user=<default> client-id={name}", "CLIENT_OF_DEFAULT_USER", name) for name in "abcdefgh"]
    keys = ("producer_byte_rate", "consumer_byte_rate")
    rows = [(*row, key) for row in shadowing for key in keys if row[2] != "h" or key == keys[0]]
    chart = kn.charts.hierarchy(_quotas(*rows, *(("client-id=h", "CLIENT", "h", key) for key in keys)))
    struck = [(row["entity"], row["key"]) for row in _rows_with(chart, "shadowed") if row["shadowed"]]
    assert struck == [("client-id=h", keys[0])]
    assert headline(chart) == "17 limits of 9 entities"


def test_throttles_are_beside_the_use() -> None:
    """Two charts said when a client was throttled and how much it used, and I laid one over the other by eye."""
    draw, frame = CHARTS["usage and limits"]
    chart = draw(frame(200))
    rows = [row for values in chart.to_dict()["datasets"].values() for row in values]
    assert {row["part"] for row in rows if "part" in row} == {"used", "over the limit", "throttled"}
    assert "user=team7 producer\nat most 8 MB/s of 2.5 MB/s, throttled for up to 45.5 ms" in {
        row["text"] for row in rows if "text" in row
    }


def test_unknown_throttles_are_not_none() -> None:
    """A log without throttle times was drawn as one in which no client was throttled."""
    draw, frame = CHARTS["usage and limits"]
    table = frame(12)
    place = table.column_names.index("throttle_ms")
    silent = table.set_column(place, "throttle_ms", pa.nulls(len(table), pa.float64())).cast(table.schema)
    assert "throttles are unknown" in svg(draw(silent))
    assert "throttles are unknown" not in svg(draw(table))


def _at(minutes: int, value: float, name: str = "billing") -> dict[str, Any]:
    """A minute of a client's use, so many minutes after midnight."""
    start = MIDNIGHT + timedelta(minutes=minutes)
    times = {"window_start": start, "window_end": start + timedelta(minutes=1), "source": "log"}
    return {"broker": 1, "user": name, "client_id": "app", "key": "producer_byte_rate", "value": value, **times}


def _rows_with(chart: Any, *names: str) -> list[dict[str, Any]]:
    """The rows of the data that a chart carries which have these columns."""
    datasets = chart.to_dict()["datasets"].values()
    return [row for rows in datasets for row in rows if all(name in row for name in names)]


def _minute(row: dict[str, Any]) -> tuple[float, float]:
    """The beginning and the end of a row, in minutes after midnight."""
    return tuple((row[name] / 1000 - MIDNIGHT.timestamp()) / 60 for name in ("from", "to"))  # type: ignore[return-value]


def test_nothing_is_drawn_where_nothing_was_measured() -> None:
    """A minute at nine and one at five were bars of a quarter of an hour, over a line that went on all day."""
    frame = schemas.table(schemas.USAGE, [_at(540, 1e6), _at(541, 2e6), _at(1020, 3e6)])
    chart = kn.charts.usage(frame)
    used = [_minute(row) for row in _rows_with(chart, "part") if row["part"] == "used"]
    assert used == [(540, 542), (1020, 1021)]
    lines = [_minute(row) for row in _rows_with(chart, "from", "y") if "part" not in row]
    assert lines == [(540, 542), (1020, 1021)]
    assert "where the line below is missing, nothing was measured" in svg(chart)
    assert "nothing was measured" not in svg(kn.charts.usage(frame.slice(0, 2)))


def test_a_limit_changes_when_the_history_says_so() -> None:
    """The limit was raised at noon, and what was throttled in the morning looked as if it had been far below."""
    quota = {"entity": "user=billing", "level": "USER", "user": "billing", "key": "producer_byte_rate"}
    noon = MIDNIGHT + timedelta(hours=12)
    rows = [{**quota, "cluster_id": "c", "value": 2e6, "valid_from": MIDNIGHT, "valid_to": noon},
            {**quota, "cluster_id": "c", "value": 8e6, "valid_from": noon, "valid_to": None}]  # fmt: skip
    usage = schemas.table(schemas.USAGE, [_at(minute, 3e6) for minute in range(600, 840)])
    by_cluster = usage.append_column("cluster_id", pa.array(["c"] * len(usage)))
    chart = kn.charts.usage(by_cluster, schemas.table(schemas.QUOTAS_HISTORY, rows))
    limits = [(row["text"], *_minute(row)) for row in _rows_with(chart, "y", "text", "from") if "part" not in row]
    assert limits == [("2 MB/s", 600, 720), ("8 MB/s", 720, 840)]
    assert max(_minute(row)[1] for row in _rows_with(chart, "part") if row["part"] == "over the limit") == 720
    assert "user=billing producer\nat most 3 MB/s of 2 MB/s, then 8 MB/s" in [
        row["text"] for row in _rows_with(chart, "text")
    ]
    assert headline(chart) == "The limit of user=billing producer was exceeded"


def test_a_plan_has_whole_names() -> None:
    """Two applications of one distinguished name were the same text, and a `…`."""
    name = "CN=billing-consumer,OU=Payments Platform,O=Example Corporation,L=Frankfurt,C=DE"
    (row,) = _rows_with(kn.charts.plan(CHARTS["plan"][1](1, name)), "change")
    assert row["change"] == f"~ user={name}0 producer"
    assert row["text"] == "1 MB/s → 5 MB/s"


def test_a_plan_begins_at_what_applies() -> None:
    """Half of my plan was diamonds and crosses on one line: limits that were never set, and had applied all along."""
    columns = ("op", "key", "old", "after", "applies_before", "applies_after")
    changes = [("set", "producer_byte_rate", None, "8000000", "5000000", "8000000"),
               ("delete", "producer_byte_rate", "500000", None, "500000", "1000000"),
               ("set", "request_percentage", None, "50", "unlimited", "50"),
               ("delete", "request_percentage", "50", None, "50", "unlimited")]  # fmt: skip
    rows = [{"row": number, "kind": "quota", "resource": "user=a", "old_known": True, "validated": "ok",
             **dict(zip(columns, change, strict=True))} for number, change in enumerate(changes)]  # fmt: skip
    chart = kn.charts.plan(schemas.table(schemas.PLAN, rows))
    assert headline(chart) == "2 higher, 1 newly set, 1 removed"
    assert [(row["change"], row["text"], row["factor"]) for row in _rows_with(chart, "change")] == [
        ("- user=a producer", "500 kB/s → 1 MB/s", 2),
        ("+ user=a producer", "5 MB/s → 8 MB/s", 1.6),
        ("+ user=a request %", "unlimited → 50 %", 1),
        ("- user=a request %", "50 % → unlimited", 1),
    ]
