"""What people see of an answer: who, how much, in which unit, why; and no column that says nothing."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.cluster.resolving import EffectiveAnswer, reasons
from kadmin_nb.errors import between_words
from kadmin_nb.frames import markup, schemas
from kadmin_nb.frames.answer import Answer
from kadmin_nb.frames.blocks import WHOLE, window
from kadmin_nb.frames.markup import document
from kadmin_nb.frames.meanings import PARTS, client, in_unit, limit, used, word
from kadmin_nb.frames.render import middle
from kadmin_nb.model.config_values import ConfigValue, Synonym
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.grammar import DEFAULT
from kadmin_nb.model.resources import Resource, Source
from kadmin_nb.resolution.shadows import tree

RATE, SHARE = "producer_byte_rate", "request_percentage"


def quotas(*rows: tuple[dict[str, Any], str, float]) -> pa.Table:
    """QUOTAS from entities, keys and values."""
    parts = (({**Entity.of(whom).columns()}, key, value) for whom, key, value in rows)
    return schemas.table(schemas.QUOTAS, ({**whom, "key": key, "value": value} for whom, key, value in parts))


ALICE = {"user": "alice"}
STORED = quotas(
    (ALICE, RATE, 10e6),
    ({**ALICE, "client-id": DEFAULT}, RATE, 8e6),
    ({**ALICE, "client-id": DEFAULT}, SHARE, 12.5),
    ({"ip": DEFAULT}, "connection_creation_rate", 20.0),
)


def config(key: str, value: str | None, source: str = "DEFAULT_CONFIG", **more: object) -> dict[str, object]:
    return {"resource_type": "TOPIC", "resource_name": "orders", "key": key, "value": value, "source": source, **more}


def configs(*rows: dict[str, object]) -> kn.Answer:
    return kn.Answer(schemas.table(schemas.CONFIGS, rows))


def shown(answer: kn.Answer) -> list[list[str]]:
    """Lines as words between gaps."""
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in answer.as_text(WHOLE).splitlines()]


def test_describe_says_who_how_much_and_at_which_level():
    """`None` stood everywhere, no value had a unit, and the names of one client were in four columns."""
    assert shown(kn.Answer(STORED)) == [
        ["4 quotas on 3 entities"],
        ["who", "producer", "request %", "connections"],
        ["3", "user=alice", "10 MB/s", ".", "."],
        ["2", "user=alice client-id=<default>", "8 MB/s", "12.5 %", "."],
        ["ip", "ip=<default>", ".", ".", "20/s"],
    ]


def test_a_column_is_there_unless_it_is_empty():
    """The same line had four columns for two users and three for one: what the title said was left out."""
    title, heading, *_ = shown(kn.Answer(quotas((ALICE, RATE, 1.0), (ALICE, SHARE, 1.0))))
    assert (title, heading) == (["2 quotas on user=alice"], ["who", "key", "limit"])


def test_resolve_finds_says_why_and_what_is_unlimited():
    """nan meant no limit, and the reasons stood in sentences that I had to match with the rows."""
    clients = pa.table({"user": ["alice"], "client_id": ["app"]})
    explanation = reasons(STORED, clients, [RATE, SHARE, "consumer_byte_rate"])
    rows = [
        {"user": "alice", "client_id": "app", "key": e.key, "value": e.value, "level": e.level} for e in explanation
    ]
    lines = shown(EffectiveAnswer(schemas.table(schemas.EFFECTIVE, rows), explanation))
    why = "set on user=alice client-id=<default>; shared with nobody (one per client-id)"
    assert lines == [
        ["2 limits apply to user=alice client-id=app; none is shared"],
        ["key", "limit", "level", "why"],
        [RATE, "8 MB/s", "default client of user", f"{why}; overrides user=alice (10 MB/s)"],
        [SHARE, "12.5 %", "default client of user", why],
        ["consumer_byte_rate", "unlimited"],
    ]


def test_each_row_has_its_own_reason():
    """alice was unlimited, *bound by client-id=app*: the reasons stood beside the rows of others."""
    clients = pa.table({"user": ["alice", "bob"], "client_id": ["app", "app"]})
    explanation = reasons(STORED, clients, [RATE, SHARE])
    by_key = sorted(explanation, key=lambda reason: reason.key)
    rows = [{"user": e.user, "client_id": "app", "key": e.key, "value": e.value, "level": e.level} for e in by_key]
    answer = EffectiveAnswer(schemas.table(schemas.EFFECTIVE, rows), explanation)
    assert [row["why"] for row in next(iter(answer._content())).to_pylist()] == [e.origin for e in by_key]


def test_many_clients_are_counted_and_say_who_shares():
    """I had to know what DEFAULT_USER means for the other clients."""
    rows = [
        {"user": "a", "client_id": "", "key": RATE, "value": 1e6, "level": "DEFAULT_USER"},
        {"user": "", "client_id": "b", "key": RATE},
    ]
    shared = "each user gets this once, for all its client-ids"
    assert shown(kn.Answer(schemas.table(schemas.EFFECTIVE, rows))) == [
        ["1 limit applies; 1 unlimited"],
        ["who", "key", "limit", "level", "shared with"],
        ["user=a (no client-id)", RATE, "1 MB/s", "default user", shared],
        ["(empty user) client-id=b", RATE, "unlimited"],
    ]


def test_configs_show_both_the_number_and_what_it_is():
    """604800000 of what?"""
    topic = "DYNAMIC_TOPIC_CONFIG"
    synonyms = [(topic, "retention.ms", "86400000"), ("STATIC_BROKER_CONFIG", "log.retention.hours", "168")]
    chain = [dict(zip(("source", "key", "value"), one, strict=True)) for one in synonyms]
    answer = configs(
        config("cleanup.policy", "delete"),
        config("retention.ms", "86400000", topic, synonyms=chain),
        config("segment.bytes", "1073741824"),
        config("ssl.key", None, topic, is_sensitive=True),
    )
    assert shown(answer) == [
        ["4 configs of topic=orders: 2 set, 2 by default"],
        ["who", "key", "value", "source", "instead of"],
        ["topic=orders", "retention.ms", "86400000 (1 d)", "dynamic topic", "604800000 (7 d)"],
        ["topic=orders", "ssl.key", "[sensitive]", "dynamic topic"],
        ["topic=orders", "cleanup.policy", "delete", "default"],
        ["topic=orders", "segment.bytes", "1073741824 (1 GiB)", "default"],
    ]


def test_the_next_of_the_brokers_keys_stands_below_the_first():
    """log.retention.ms of all brokers hides what their files say in minutes and hours."""
    synonyms = tuple(
        Synonym(source, f"log.retention.{unit}", text)
        for source, unit, text in (
            (Source.ALL_BROKERS, "ms", "5"), (Source.FILE, "minutes", "77"), (Source.BUILT_IN, "hours", "168")
        )
    )  # fmt: skip
    value = ConfigValue(Resource("TOPIC", "t"), "retention.ms", "5", Source.ALL_BROKERS, synonyms)
    assert value.below(Source.ALL_BROKERS) == synonyms[1]
    assert replace(value, synonyms=synonyms[1:]).below(Source.FILE) == synonyms[2]


def test_of_many_configs_those_that_somebody_set_stand_first():
    """Two of 340 were mine, and I scrolled."""
    keys = [*(f"log.{n}" for n in range(70)), *(f"x{n}.y" for n in range(3))]
    answer = configs(*(config(key, "1") for key in keys), config("mine", "2", "DYNAMIC_TOPIC_CONFIG"))
    page = answer.as_html()
    assert (page.count("<tr>"), page.index("mine") < page.index("log.0")) == (61, True)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        (RATE, 8e6, "8 MB/s"),
        (RATE, 2.0**20, "1 MiB/s"),
        (RATE, 512_000.0, "512 kB/s"),
        (RATE, 1234567.0, "1.234567 MB/s"),
        (RATE, "5000", "5 kB/s"),
        (SHARE, "[secure]", "[secure]"),
        ("retention.ms", "-1", "-1"),
        ("flush.ms", "9223372036854775807", "9223372036854775807 (no limit)"),
        ("max.message.bytes", "1048588", "1048588 (about 1 MiB)"),
        ("log.retention.hours", "168", "168 (7 d)"),
        ("linger.ms", "5", "5"),
        ("min.insync.replicas", "2", "2"),
        (None, None, ""),
    ],
)
def test_a_value_has_its_unit_and_loses_no_digit(key, value, text):
    """1234567 was shown as 1.23457 MB/s: I set what I saw, and it was another limit."""
    assert in_unit(key, value) == text


def test_what_is_measured_is_rounded_and_no_limit_is_a_word():
    """Eight digits of a rate hid that it was close to its limit."""
    assert used(RATE, 7654321.123) == "7.65 MB/s"
    assert (limit(RATE, None), limit(None, None)) == ("unlimited", "")
    assert [word(name) for name in ("DEFAULT_CLIENT_OF_USER", "DYNAMIC_TOPIC_CONFIG", "kept", None)] == [
        "default client of user",
        "dynamic topic",
        "kept",
        "",
    ]
    assert client(None, "a b") == "client-id='a b'"


def test_no_column_is_lost_in_the_frame():
    """The table left out a column, and my code needed it."""
    df = kn.Answer(STORED)._in_cell()
    assert list(df.columns) == schemas.QUOTAS.names
    assert df["value"].tolist() == [10e6, 8e6, 12.5, 20.0]


def test_a_frame_that_nobody_knows_shows_all_of_its_columns():
    """The columns of my own frame were gone."""
    table = pa.table({"my_number": [1.5], "mine": ["x"], "empty": pa.nulls(1, pa.string())})
    assert shown(kn.Answer(table)) == [["my number", "mine"], ["1.5", "x"], ["1 row"]]


def test_the_html_of_a_long_answer_is_small():
    """A notebook of ten answers did not open any more."""
    answer = kn.Answer(pa.concat_tables([STORED] * 25_000))
    assert len(answer.as_html()) < 200_000
    many = configs(*(config(f"log.{n}", "x" * 300) for n in range(5000)))
    assert len(many.as_html()) < 1_000_000


def test_its_style_reaches_nothing_else():
    """Since I looked at quotas all tables of my notebook had other colours."""
    style = kn.Answer(STORED).as_html().partition("<style>")[2].partition("</style>")[0]
    rules = [line.split("{")[0].strip() for line in style.splitlines() if "{" in line and not line.startswith("@")]
    selectors = [part.strip() for rule in rules for part in re.split(r",(?![^(]*\))", rule)]
    assert selectors
    assert all(selector.startswith(".kadmin") for selector in selectors)


def test_a_shortened_name_is_whole_where_the_mouse_rests_and_in_what_is_copied():
    """Three certificates began alike, and I could not tell them apart."""
    names = [f"CN={'x' * length}<b>,OU=Shop" for length in (5, 100, 400)]
    page = kn.Answer(quotas(*(({"user": name}, RATE, 1.0) for name in names))).as_html()
    cells = re.findall(r'<td class="kadmin-name kadmin-first"([^>]*)>(.*?)</td>', page)
    for name, (more, cell) in zip(names, cells, strict=True):
        whole = html.escape(client(name, None))
        assert re.sub("<.*?>", "", cell) == f"3 {whole}"
        assert (f'title="{whole}"' in more) is (len(name) > 30)
    assert "<b>" not in page
    seen = re.sub('<span class="kadmin-middle">.*?</span>', "…", cells[2][1])
    assert "xxxx…xxxx" in seen
    assert html.unescape(seen).rstrip("'").endswith("OU=Shop")


def test_a_narrow_window_keeps_the_indent_of_a_tree():
    """At 80 columns client-id=notebook stood below user=alice without its indent: a client-id of everybody."""
    stored = quotas(
        (ALICE, RATE, 5e5),
        ({**ALICE, "client-id": "notebook"}, RATE, 1e7),
        ({**ALICE, "client-id": "日本語のクライアント"}, RATE, 1e7),
        ({"client-id": "mirror-maker"}, RATE, 3e6),
        ({"user": DEFAULT}, RATE, 2e6),
    )
    for width in range(60, 121):
        lines = Answer(tree(stored)).as_text(window(width, "a pipe")).splitlines()
        roots = [line[3:].split("  ")[0] for line in lines if line[3:].startswith(("user=", "client-id="))]
        assert [root[:6] for root in roots] == ["user=a", "user=<", "client"]
        assert sum(line[3:].startswith("  client") for line in lines) == 2


def test_every_line_of_a_wrapped_text_has_its_indent():
    """The blanks before a long word were dropped with it."""
    assert between_words("    /a/path/that/is/long", 10) == ["    /a/path/that/is/long"]


def test_a_long_name_keeps_its_beginning_and_its_end():
    """Two certificates ended in …, both at the same word."""
    assert middle("user=CN=app-of-the-online-Shop", 18) == "user=CN=a…ine-Shop"
    assert middle("user=日本語のクライアント", 14) == "user=日…アント"
    assert (middle("user=a", 6), middle("user=a", 1)) == ("user=a", "…")


def test_a_table_is_a_table_at_every_width() -> None:
    """At 80 columns each quota took two lines, and what shadowed it stood in a line below."""
    batch = {"user": DEFAULT, "client-id": "spark-batch"}
    stored = quotas(
        ({"user": DEFAULT}, RATE, 2e6), (batch, RATE, 256 * 1024.0), (batch, "controller_mutation_rate", 20.0),
        ({"client-id": "mirror-maker"}, RATE, 3e6),
    )  # fmt: skip
    answer = Answer(tree(stored))
    assert answer.as_text(window(80, "--json shows everything")).splitlines() == [
        "4 quotas on 3 entities; 1 can never apply",
        "   who                      key                           limit  shadowed by",
        "6  user=<default>           producer_byte_rate           2 MB/s",
        "4    client-id=spark-batch  controller_mutation_rate       20/s",
        "                            producer_byte_rate        256 KiB/s",
        "7  client-id=mirror-maker   producer_byte_rate           3 MB/s  user=<default>",
    ]
    assert len(answer.as_text(window(120, "")).splitlines()) == 6
    assert "not shown" not in answer.as_text(window(120, ""))


def test_without_styles_a_tree_keeps_its_indent_and_a_number_its_side() -> None:
    """On GitHub, which takes styles away, client-id=a stood as a root, and looked like a client-id of everybody."""
    page = document(tree(quotas((ALICE, RATE, 1.0), (ALICE, SHARE, 5.0), ({**ALICE, "client-id": "a"}, SHARE, 2.0))))
    cells = re.findall(r'<td class="kadmin-branch kadmin-first">(.*?)</td>', page)
    assert [re.sub("<.*?>", "", cell) for cell in cells] == ["3 user=alice", "", "1 &emsp;&emsp;client-id=a"]
    assert page.count('<td class="kadmin-number" align="right" nowrap>') == 3


def test_a_level_is_a_number_before_the_name_and_its_words_are_where_the_mouse_rests() -> None:
    """The longest words of the table said where in Kafka's order an entity stands, and pushed its limit out."""
    page = kn.Answer(STORED).as_html()
    levels = re.findall(r'<span class="kadmin-level" title="(.*?)">(.*?)</span>', page)
    assert levels == [
        ("level 3 of 8: user", "3"),
        ("level 2 of 8: default client of user", "2"),
        ("ip", "ip"),
    ]
    assert "<th>level" not in page
    assert ">level</th>" not in page


def test_columns_give_way_from_the_right_and_a_number_is_never_cut() -> None:
    """A row of `usage` took three lines, since its source was one long badge."""
    at = datetime(2026, 11, 21, 11, tzinfo=UTC)
    row = {"broker": 1, "user": "admin", "client_id": "slow", "key": RATE, "value": 27.9, "throttle_ms": 1.0,
           "window_start": at, "window_end": at + timedelta(hours=1),
           "source": "request log: I/O-thread time, an estimate"}  # fmt: skip
    used = kn.Answer(schemas.table(schemas.USAGE, [row]))
    columns = ["broker", "who", "key", "used", "window", "throttled", "source"]
    for width in range(70, 160):
        names, values, *below = used.as_text(window(width, "a pipe")).splitlines()
        gone = below[-1].rpartition("not shown: ")[2].partition(";")[0].split(", ") if len(names.split()) < 7 else []
        assert sorted([*names.split(), *gone]) == sorted(columns)
        assert f"user=admin client-id=slow  {RATE}  27.9 B/s" in values
    assert used.as_text(window(90, "a pipe")).splitlines()[-1] == "1 row, not shown: window, throttled, source; a pipe"


def test_of_a_very_long_table_only_what_is_shown_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of 165,000 configs was text as a whole, so that I saw sixty rows of it."""
    part, written = PARTS["config_value"], []
    monkeypatch.setitem(
        PARTS, "config_value", replace(part, texts=lambda rows: written.append(len(rows)) or [""] * len(rows))
    )
    chain = [{"source": "DEFAULT_CONFIG", "key": "a", "value": "1"}]
    one = configs(config("a", "1", synonyms=chain)).to_arrow()
    kn.Answer(one.take(pa.array([0] * 20_000))).as_text(window(120, "a pipe"))
    assert written == [60]


def test_a_table_of_somebody_else_has_no_unit_of_ours() -> None:
    """My share of 0.5 was shown as 0.5 %: a column of that name is in percent in another table."""
    assert shown(kn.Answer(pa.table({"share": [0.5], "throttle_ms": [1500.0]}))) == [
        ["share", "throttle ms"],
        ["0.5", "1500"],
        ["1 row"],
    ]


def test_an_answer_has_the_styles_of_what_is_in_it() -> None:
    """Each output of a notebook had 4 kB of styles, also *nothing is staged*."""
    sentence, table = document("nothing is staged"), kn.Answer(STORED).as_html()
    assert len(sentence) < 600
    assert "table" not in sentence
    classes = {name for names in re.findall('class="(.*?)"', table) for name in names.split()}
    styled = set(re.findall(r"\.(kadmin-\w+)", Path(markup.__file__).with_name("answer.css").read_text()))
    assert set(re.findall(r"\.(kadmin-\w+)", table)) >= classes & styled
    assert "kadmin-pill" not in table


def test_a_bar_is_in_its_cell_and_not_the_cell() -> None:
    """The column of bars was a bar itself, eight pixels high, and what it said could not be read."""
    row = {"broker": 1, "key": RATE, "bucket_user": "a", "bucket_client_id": "", "level": "USER", "limit": 4e6,
           "windows_unknown": 0, "peak": 3.4e6, "utilisation": 85.0, "throttle_ms": 0.0}  # fmt: skip
    page = kn.Answer(schemas.table(schemas.NEAR, [row])).as_html()
    bar = '<td class="kadmin-use"><span class="kadmin-bar kadmin-fair"><i style="width:85%"></i></span> 85 %</td>'
    assert bar in page


def used_rows(*rows: tuple[str, float | None, float | None]) -> pa.Table:
    """USAGE of a key, a value and a throttle each."""
    at = {"window_start": datetime(2026, 11, 21, 12, tzinfo=UTC), "window_end": datetime(2026, 11, 21, 12, tzinfo=UTC)}
    client = {"broker": 1, "user": "a", "client_id": "", "source": "log"}
    return schemas.table(
        schemas.USAGE, ({**at, **client, "key": key, "value": value, "throttle_ms": ms} for key, value, ms in rows)
    )


def test_measured_numbers_of_a_column_have_one_unit_and_stand_on_the_point():
    """27.9 B/s stood above 1.41 MB/s, and 9.98 s above 1 ms: the eye took the small one for the large one."""
    rows = (RATE, 1.41e6, 9980.0), (RATE, 505e3, 0.0), (RATE, 10.1e3, 1.0), (RATE, 27.9, None), (RATE, None, 2000.0)
    table = used_rows(*rows, (SHARE, 7.81e-5, None), (SHARE, 0.5, None))
    lines = kn.Answer(table).as_text(WHOLE).splitlines()[1:8]
    measured = ("1.410 MB/s", "0.505 MB/s", "0.010 MB/s", "<0.001 MB/s", "unknown", "<0.001 %", "0.500 %")
    assert [re.split(" {2,}", line)[4] for line in lines] == [*measured]
    assert len({line.index(".") for line in lines[:3]}) == 1
    assert [line.partition(" to 12:00:00")[2].split("log")[0].strip() for line in lines[:5]] == [
        "9.980 s", "0.000 s", "0.001 s", "", "2.000 s"]  # fmt: skip
    later = markup.columns(table.slice(2, 2), markup.view_of(table).parts(table))
    assert [list(column.cells) for column in later if column.name == "used"] == [["0.010 MB/s", "<0.001 MB/s"]]


def test_a_change_between_two_limits_is_coloured_beside_a_config():
    """With one config in the plan, ▲ and ▼ had no colour, and numbers stood at the left."""
    limits = {"key": RATE, "resource": "user=a", "applies_before": "1000000", "applies_after": "5"}
    lowered = {
        "row": 1,
        "kind": "quota",
        "op": "set",
        "old_known": True,
        "validated": "ok",
        "change": "changed",
        **limits,
    }
    other = {**lowered, "row": 2, "resource": "topic=a", "key": "retention.ms"}
    alone, beside = (document(schemas.table(schemas.PLAN, rows)) for rows in ([lowered], [lowered, other]))
    assert '<span class="kadmin-fair">5 B/s ▼</span>' in alone
    assert '<span class="kadmin-fair">5 B/s ▼</span>' in beside
    danger = document(schemas.table(schemas.PLAN, [{**lowered, "change": "danger"}]))
    assert 'tr:has(.kadmin-mark [title="danger"])' in danger
    assert '<span class="kadmin-mark"><span class="kadmin-bad" title="danger">!</span></span>' in danger
    assert ('align="right"' in alone, 'align="right"' in beside) == (True, False)


def test_the_sign_of_a_row_stays_with_its_name():
    """Whoever scrolled a table of `near` to the right saw names, and no more which of them was throttled."""
    bucket = {"bucket_user": "a", "bucket_client_id": "", "broker": 1, "level": "USER", "key": RATE}
    numbers = {"limit": 1e6, "peak": 1e6, "utilisation": 100.0, "throttle_ms": 5.0, "windows_unknown": 0}
    page = document(schemas.table(schemas.NEAR, [{**bucket, **numbers}]))
    assert page.count("<th") - page.count("<thead") == 7
    assert '<span class="kadmin-level" title="level 3 of 8: user">3</span>' in page
    assert re.search(r'<td class="[^"]*kadmin-first"><span class="kadmin-mark"><span class="kadmin-bad"[^>]*>✗', page)
