"""How much of an answer a terminal shows: in a window what fits, into a pipe or a file all of it."""

from __future__ import annotations

import io
import json
import re
import tracemalloc
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from wcwidth import wcswidth

import kadmin_nb as kn
from kadmin_nb.commands import answer_formats
from kadmin_nb.commands.answer_formats import REST, fitted_lines
from kadmin_nb.frames import schemas
from kadmin_nb.frames.answer import Answer
from kadmin_nb.frames.blocks import window
from kadmin_nb.frames.render import lines
from tests.terminal.pseudo_terminal import in_terminal

Window = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def in_window(kafka) -> Window:
    """`in_window(80, "quota", "describe")` runs that line in a terminal of 80 columns: exit code and lines."""
    return lambda columns, *words, **more: in_terminal(columns, [*words, "--cluster", kafka.bootstrap], **more)


def piped(table: pa.Table) -> list[str]:
    return list(fitted_lines(kn.Answer(table), io.StringIO()))


def at(width: int, table: pa.Table) -> list[str]:
    page = window(width, REST)
    return list(lines(kn.Answer(table)._blocks(page), page))


def flat(said: Sequence[str]) -> str:
    """Lines without their breaks and indents."""
    return " ".join(" ".join(said).split())


def test_a_pipe_has_every_row_and_every_character():
    """`kadmin-nb … > all.txt` ended after 60 rows, and its cells after 80 characters."""
    table = pa.table({"name": [f"n{number:02}" for number in range(100)], "value": ["x" * 300] * 100})
    rows = [f"n{number:02}   {'x' * 300}" for number in range(100)]
    assert piped(table) == ["name  value", *rows, "100 rows"]


@pytest.mark.broker
def test_a_pipe_has_every_config_of_a_broker(live, cluster):
    """`kadmin-nb config describe broker=1 | grep sasl` found nothing: sasl is behind row 60."""
    configs = cluster.configs.describe(broker=1).to_arrow().to_pylist()
    said = live("config", "describe", "broker=1").out.splitlines()
    keys = [row["key"] for row in sorted(configs, key=lambda row: row["source"] == "DEFAULT_CONFIG")]
    assert [line.split()[:2] for line in said[2:]] == [["broker=1", key] for key in keys]
    assert said[0].startswith(f"{len(keys)} configs of broker=1: ")


@pytest.mark.broker
@pytest.mark.parametrize("columns", [80, 200])
def test_a_window_shows_what_fits_and_where_the_rest_is(in_window, columns, cluster):
    """Each row took three lines of my screen, and the hint named a Python method."""
    count = len(cluster.configs.describe(broker=1))
    code, said = in_window(columns, "config", "describe", "broker=1", pager="")
    assert code == 0
    assert max(map(len, said)) <= columns
    assert f"{count} rows, the first 60 shown" in flat(said)
    assert flat(said).endswith("; --json shows everything")


@pytest.mark.broker
def test_what_is_taller_than_the_window_goes_through_the_pager(in_window, cluster):
    """The title and the rows that mattered had scrolled away."""
    code, said = in_window(80, "config", "describe", "broker=1", pager="sed s/^/paged:/")
    keys = cluster.configs.describe(broker=1).to_arrow()["key"].to_pylist()
    paged = [line.rstrip().removeprefix("paged:") for line in said if line.startswith("paged:")]
    assert code == 0
    assert said[-1].startswith("paged:")
    assert paged[0].startswith(f"{len(keys)} configs of broker=1: ")
    assert max(map(len, paged)) <= 80
    assert "the first 60 shown" not in flat(paged)


@pytest.mark.broker
def test_a_pager_is_for_what_is_too_tall_and_for_who_wants_one(in_window):
    """Three lines, and I had to press q."""
    code, said = in_window(80, "quota", "describe", "user=nobody", pager="sed s/^/paged:/")
    assert code == 0
    assert not any(line.startswith("paged:") for line in said)
    _, unpaged = in_window(80, "config", "describe", "broker=1", pager="")
    assert "first 60 shown" in flat(unpaged)


@pytest.mark.broker
def test_a_pager_keeps_colours_whatever_less_is_told(in_window, tmp_path):
    """LESS=-iM is in my profile, and everything that was bold or red went plain through the pager."""
    less = tmp_path / "less"
    less.write_text('#!/bin/sh\necho "LESS=$LESS"\nexec cat\n')
    less.chmod(0o755)
    words = ("config", "describe", "broker=1")
    _, said = in_window(80, *words, pager=f"{less} -X", colours={"NO_COLOR": "", "LESS": "-iM"})
    assert said[0] == "LESS=-iM -R"
    assert said[1].startswith("\x1b[1m")


@pytest.mark.broker
def test_a_line_of_a_cell_is_not_watched(in_window, monkeypatch):
    """`!kadmin-nb …` in a cell: \\r and \\x1b[K stood above the table, and above the JSON."""
    monkeypatch.setenv("GIT_PAGER", "cat")
    monkeypatch.setattr("tests.terminal.pseudo_terminal.STATUS", re.compile("(?!)"))
    code, said = in_window(80, "config", "describe", "broker=1")
    assert (code, [line for line in said if "\x1b[K" in line or "\r" in line]) == (0, [])
    assert "the first 60 shown" in flat(said)  # and no pager, which has no keys there


def test_an_error_breaks_between_words():
    """`doctor` said *the clus* at the end of a line, and *ter* on the next; JupyterLab did so in every error."""
    code, said = in_terminal(40, ["quota", "describe", "--cluster", "no-such-profile-anywhere"])
    assert code != 0
    assert max(map(len, said)) <= 40
    words = " ".join(said).split()
    with pytest.raises(kn.KadminError) as raised:
        kn.connect("no-such-profile-anywhere")
    assert set(str(raised.value).split()) <= set(words)
    shown = raised.value._render_traceback_()[0]
    assert max(map(len, shown.splitlines())) <= 68  # JupyterLab has room for 71 beside its files, 1000 pixels wide
    assert shown.split()[1:] == str(raised.value).split()


@pytest.mark.broker
def test_a_plan_fits_eighty_columns(in_window, unique):
    """At 80 columns the plan was a heap of half lines."""
    words = ("quota", "set", "producer_byte_rate=8MB/s", f"user={unique('team-orders')}", "client-id=billing-service")
    code, said = in_window(80, *words)
    assert code == 0
    assert max(map(len, said)) <= 80
    assert said[1].split() == ["who", "key", "before", "after"]
    assert (said[2][0], said[2].split()[-5:]) == ("+", ["producer", "unlimited", "8", "MB/s", "▼"])


@pytest.mark.broker
@pytest.mark.parametrize("columns", [80, 200])
def test_a_brokers_refusal_is_never_cut(in_window, columns):
    """The broker said why, and its sentence ended in … before the reason."""
    code, said = in_window(columns, "config", "set", "min.insync.replicas=many", "broker=<default>")
    assert code == 1
    assert "Invalid value many for configuration min.insync.replicas: Not a number of type INT" in flat(said)


def test_a_sentence_that_matters_goes_on_in_its_column_and_any_other_is_cut():
    """The reason stood in a column of twelve characters."""
    reason = "because the broker says so and goes on to say so for quite a while"
    row = {"row": 1, "op": "set", "resource": "user=a", "key": "k", "after": "1", "message": reason, "note": reason}
    assert at(60, schemas.table(schemas.OUTCOMES, [row]).select(["row", "resource", "key", "after", "message"])) == [
        "row  who     key  after  message",
        "  1  user=a  k    1      because the broker says so and goes",
        "                         on to say so for quite a while",
        "1 row",
    ]
    assert at(60, schemas.table(schemas.PLAN, [row]).select(["row", "resource", "key", "note"])) == [
        "row  who     key  note",
        "  1  user=a  k    because the broker says so and goes on to…",
        "1 row, shortened; --json shows everything",
    ]


def test_a_long_value_ends_in_an_ellipsis_and_says_so():
    """A certificate filled the screen."""
    assert at(40, pa.table({"key": ["chain"], "value": ["x" * 5000]})) == [
        "key    value",
        f"chain  {'x' * 32}…",
        "1 row, shortened; --json shows",
        "everything",
    ]


def test_columns_that_find_no_room_are_named_below():
    """The last columns, the ones that I wanted, were not there."""
    table = pa.table({name: [f"{name} of the only row"] for name in ("first", "second", "third")})
    assert at(50, table) == [
        "first                  second",
        "first of the only row  second of the only row",
        "1 row, not shown: third; --json shows everything",
    ]


def test_a_tree_has_an_entity_once():
    """The second quota of a user looked like another user."""
    rows = [{"entity": f"user={name}", "parent": None, "level": "USER", "value": 1e6} for name in ("alice", "bob")]
    rows = [{**row, "key": key} for row in rows for key in ("consumer_byte_rate", "producer_byte_rate")]
    tree = Answer(schemas.table(schemas.TREE, rows))
    assert list(lines(tree._blocks(), window(60, REST))) == [
        "4 quotas on 2 entities",
        "   who         key                  limit",
        "3  user=alice  consumer_byte_rate  1 MB/s",
        "               producer_byte_rate  1 MB/s",
        "3  user=bob    consumer_byte_rate  1 MB/s",
        "               producer_byte_rate  1 MB/s",
    ]


names = st.text(st.sampled_from("ab _.,/=:-é日本語🙂\u0301\u200d\u202e\x1b\n\t\0"), max_size=70)
columns = st.sampled_from(["row", "key", "value", "message", "entity", "user", "synonyms", "error", "brokers_agreeing"])
tables = st.dictionaries(columns, st.lists(names | st.none(), min_size=3, max_size=3), min_size=1)


@settings(deadline=None)
@given(tables, st.integers(20, 250))
@example({"message": [None, ":::" + 4 * "\x1b"], "error": [None, ":::" + 4 * "\x1b"]}, 20)  # sentences alone
def test_no_line_is_wider_than_its_window(cells, width):
    """One name in Japanese broke every line after it."""
    table = pa.table({name: pa.array(texts, pa.string()) for name, texts in cells.items()})
    said = at(width, table)
    assert all(line.isprintable() for line in said + piped(table))
    assert max(map(wcswidth, said)) <= width


def test_one_cell_of_a_megabyte_does_not_pad_a_thousand_rows():
    """The output of a small table was a gigabyte of blanks."""
    table = pa.table({"value": ["x" * 1_000_000, *["y"] * 999], "key": ["k"] * 1000})
    assert sum(map(len, piped(table))) < 1_200_000


@pytest.mark.slow
@pytest.mark.parametrize(("form", "rows"), [("table", 60_000), pytest.param("json", 25_000, marks=pytest.mark.long)])
def test_a_long_frame_goes_through_a_pipe_in_pieces(form, rows):
    """A million rows into a file took all the memory of the machine."""
    numbers = pa.array(range(rows))
    answer = kn.Answer(pa.table({f"c{column}": numbers for column in range(5)}))
    said = fitted_lines(answer, io.StringIO()) if form == "table" else answer_formats.json_lines(answer)
    tracemalloc.start()
    try:
        size = sum(len(line) for line in said)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8_000_000 < size * 5


def test_json_is_the_same_rows_piece_by_piece():
    """Half of the commas were missing."""
    rows = [{"a": number, "b": "é"} for number in range(5000)]
    said = answer_formats.as_json(kn.Answer(pa.Table.from_pylist(rows)))
    assert said == json.dumps(rows, indent=1)
    assert answer_formats.as_json(kn.Answer(pa.table({"a": pa.array([], pa.int64())}))) == "[]"


@pytest.mark.broker
def test_kafkas_own_lines_obey_no_name_in_a_window(kafka, cluster, unique):
    """`kafka-configs --describe` of all clients changed the title of my window, which a client-id had asked for."""
    name = f"\x1b]0;{unique('title')}\x07\u202e"
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 10**12, client_id=name)
    stage.plan().apply().raise_for_errors()
    words = ["kafka-configs", "--bootstrap-server", kafka.bootstrap, "--describe", "--client", name]
    for form in ("text", "table"):
        code, said = in_terminal(200, [*words, "--output", form])
        assert (code, len(said)) == (0, 3 if form == "table" else 1)
        assert all(line.isprintable() for line in said)
        assert r"\x1b]0;title-" in "".join(said)


@pytest.mark.broker
def test_colours_say_again_what_the_words_say(in_window, unique):
    """Set, removed and refused rows all looked alike."""
    words = ("quota", "set", "producer_byte_rate=1MB/s", f"user={unique('user')}")
    code, plain = in_window(200, *words)
    _, coloured = in_window(200, *words, colours={})
    assert code == 0
    assert "\x1b[" not in "".join(plain)
    assert coloured[0].startswith("\x1b[1mPlan ")
    assert "\x1b[32m+\x1b[0m" in "".join(coloured)
    assert _widths(re.sub(r"\x1b\[\d*m", "", line) for line in coloured[2:4]) == _widths(plain[2:4])
    (refused,) = in_window(80, "quota", "set", "x=", "user=a", colours={})[1][:1]
    assert refused.startswith("\x1b[31m")


def _widths(shown: Iterable[str]) -> list[int]:
    return [len(line) for line in shown]


@pytest.mark.broker
@pytest.mark.parametrize(
    ("words", "colours"),
    [
        (("quota", "describe", "user=nobody"), {"TERM": "dumb"}),
        (("quota", "describe", "user=nobody"), {"NO_COLOR": "1"}),
    ],
)
def test_where_colours_are_not_wanted_there_are_none(in_window, words, colours):
    """A log of a job was full of escapes."""
    assert "\x1b[" not in "".join(in_window(80, *words, colours=colours)[1])
