"""Every name of a secret, and every text with one, through every door: it is nowhere afterwards."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

import kadmin_nb as kn
from kadmin_nb.commands import terminal
from kadmin_nb.model.changes import Change
from kadmin_nb.model.resources import Resource
from kadmin_nb.plans.plan import Plan
from kadmin_nb.plans.plan_file import PlanHead
from tests.history.hours import taken
from tests.history.hours import topic as topic_row
from tests.plans.secret_cells import cells
from tests.plans.secret_search import CORE, shown, sings
from tests.plans.secret_spellings import NAMES, TEXTS

pytestmark = pytest.mark.broker

Door = Callable[..., object]

SOME_NAMES = pytest.mark.parametrize(
    "name", [*NAMES[:3], *(pytest.param(name, marks=pytest.mark.long) for name in NAMES[3:])]
)
"""All names take the same way through the doors; that each is one of a secret is asked of the rule."""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Path:
    """A folder for all that is written, journals too; everything is logged."""
    folder = tmp_path / "written"
    folder.mkdir()
    monkeypatch.setenv("KADMIN_STATE", str(folder / "state"))
    monkeypatch.chdir(folder)
    caplog.set_level(logging.DEBUG)
    return folder


@pytest.fixture
def typed(tmp_path: Path) -> Callable[[str, str], str]:
    """`typed(name, text)`: a file that a person has written, outside of what is searched."""

    def write(name: str, text: str) -> str:
        file = tmp_path / name
        file.write_text(text)
        return str(file)

    return write


@pytest.fixture
def silence(place: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Door:
    """`silence(objects…)`: neither they, nor a file, the log, the screen or a warning have the secret."""

    def check(*objects: object) -> None:
        said = capfd.readouterr()
        assert sings(shown(*objects), caplog.text, said.out, said.err, place) == []

    return check


@pytest.fixture
def kadmin(kafka, capfd: pytest.CaptureFixture[str]) -> Door:
    """The terminal, at the local Kafka: `kadmin(words…)` is refused, and has neither shown nor written the secret."""

    def run(*words: str, place: Path, ends: tuple[int, ...] = (1, 2)) -> str:
        at_kafka = () if words[0] == "runbook" else ("--cluster", kafka.bootstrap)
        code = terminal.run_line([*words, *at_kafka])
        said = capfd.readouterr()
        assert code in ends, (words, said)
        assert sings(said.out, said.err, place) == [], (words, said)
        return said.out + said.err

    return run


@pytest.fixture
def cell(kafka) -> Iterator[Door]:
    """Runs a cell in a real shell, at the local Kafka; `s` holds the secret."""
    with cells(kafka.bootstrap, CORE) as run:
        yield run


def runbook(place: Path, parameters: str) -> Path:
    """A runbook with these parameters, beside what is written."""
    import nbformat

    cells = [
        nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell("import kadmin_nb as kn; params = kn.runbooks.bind()"),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), place.parent / "mine.ipynb")
    return place.parent / "mine.ipynb"


@SOME_NAMES
def test_a_config_that_is_called_like_a_secret_is_refused_before_anything_is_written(kadmin, typed, place, topic, name):
    """config set x.passwd=hunter2 --save p.json was refused, and p.json had the password."""
    key = f"x.{name}"
    line = f"set {key}={CORE} topic={topic}"
    lines, properties = typed("lines", f"config {line}\n"), typed("add.properties", f"{key}={CORE}\n")
    declared = typed("d.yaml", f"kadmin: 1\nconfigs:\n  topic={topic}:\n    {key}: {CORE}\n")
    tool = ["kafka-configs", "--alter", "--entity-type", "topics", "--entity-name", topic]
    for words in (
        ["config", *line.split(), "--save", "p.json"],
        ["config", *line.split(), "--allow-unknown", key, "--save", "p.json", "--out", "o.csv", "--reason", "x"],
        ["config", "append", *line.split()[1:], "--json"],
        ["config", "set", f"{key}={CORE}", "broker=1", "--save", "p.json"],
        ["quota", "set", f"{key}={CORE}", "user=alice", "--save", "p.json"],
        ["config", "set", key, CORE, f"topic={topic}"],
        ["config", "describe", f"topic={topic}", "--property", f"{key}={CORE}"],
        ["plan", "-f", lines, "--save", "p.json"],
        ["plan", "from", declared, "--save", "p.json"],
        [*tool, "--add-config", f"{key}={CORE}"],
        [*tool, "--add-config-file", properties],
        ["runbook", "run", str(runbook(place, "cluster: str = ''")), "-p", name.replace("-", "_"), CORE],
    ):
        kadmin(*words, place=place)
    assert not list(place.rglob("*.json"))


@SOME_NAMES
def test_a_secret_of_python_and_of_a_cell_is_shown_nowhere(cluster, cell, silence, topic, name):
    """repr(stage) in the shared notebook had it, and so had the frame."""
    key = f"x.{name}"
    stage = cluster.new_stage()
    stage.set_config(key, CORE, topic=topic)
    frame = pd.DataFrame({"resource_type": ["TOPIC"], "resource_name": [topic], "key": [key], "value": [CORE]})
    framed = cluster.new_stage()
    framed.add(frame)
    kept: list[object] = [stage, framed]
    for one in (stage, framed):
        with pytest.raises(kn.UsageError, match="given only by reference") as refused:
            one.plan("x", allow_unknown=[key])
        kept.append(refused.value)
    kept += [cell(f"%kconfig set {key}={{s}} topic={topic}").result, cell("%kconfig plan").error_in_exec]
    kept += [cell("%kconfig discard").result, cell(f"%kquota set {key}={{s}} user=alice").error_in_exec]
    silence(*kept)


@pytest.mark.parametrize("name", NAMES)
def test_a_parameter_of_a_runbook_that_is_called_like_a_secret_is_refused(place, silence, name):
    """-p account_key=… stood in the document, its page and its record."""
    word = name.replace("-", "_").replace(".", "_")
    with pytest.raises(kn.UsageError, match="its name says that it is a secret") as refused:
        kn.runbooks.run(runbook(place, f"{word}: str = ''"), {word: CORE}, output="out.ipynb")
    silence(refused.value)
    assert not list(place.rglob("out*"))


@pytest.mark.parametrize("name", NAMES)
def test_a_frame_of_configs_has_no_value_that_is_called_like_a_secret(name):
    """The history of a cluster whose brokers did not say so had it."""
    held = taken(0, {}, [topic_row("t", f"x.{name}", CORE), topic_row("t", "retention.ms", "1")])
    found = kn.diff(held, taken(1, {})).to_arrow().select(["key", "a", "is_sensitive"]).to_pylist()
    assert [tuple(row.values()) for row in found] == [("retention.ms", "1", False), (f"x.{name}", "[secure]", True)]


@pytest.mark.parametrize("text", TEXTS)
def test_a_free_text_with_a_secret_is_refused_before_it_is_written(kadmin, cluster, silence, typed, place, topic, text):
    """--reason "password=hunter2" stood in the plan, and from there in the journal and the history."""
    text = text.format(CORE)
    change = ["config", "set", "retention.ms=86400000", f"topic={topic}"]
    policy = typed("policies.py", f"def r(configs):\n    {json.dumps(text)}\n    return configs[:0]\n")
    for words in (
        [*change, "--save", "p.json", "--reason", text],
        [*change, "--apply", "--allow", f"retention.ms topic={topic}", "--reason", text],
        ["policy", "check", policy, "--out", "p.json"],
        ["config", "set", f"client.note={text}", f"topic={topic}", "--save", "p.json"],
        ["config", "set", f"retention.ms={text}", f"topic={topic}", "--save", "p.json"],
        ["kafka-configs", "--alter", "--topic", topic, "--add-config", f"client.note={text}"],
        ["runbook", "run", str(runbook(place, "note: str = ''")), "-r", "note", text],
    ):
        kadmin(*words, place=place)
    assert not list(place.rglob("*.json*"))
    stage = cluster.new_stage()
    stage.set_config("retention.ms", 86_400_000, topic=topic)
    with pytest.raises(kn.UsageError, match="the reason has a secret in it") as refused:
        stage.plan(text)
    other = cluster.new_stage()
    other.set_config("cleanup.policy", text, topic=topic)
    with pytest.raises(kn.UsageError, match="has a secret in it") as refused_value:
        other.plan("x")
    silence(stage, other, refused.value, refused_value.value)


@pytest.mark.parametrize("text", TEXTS)
def test_a_plan_file_whose_reason_has_a_secret_is_not_carried_out(kadmin, cluster, typed, place, topic, text):
    """A plan of another tool brought it into our journal."""
    change = Change(1, "set", Resource("TOPIC", topic), "retention.ms", None, "86400000", "86400000")
    plan = Plan(PlanHead(cluster.id, "2026-01-01T00:00:00.000+00:00", text.format(CORE)), (change,))
    file = typed("theirs.json", "")
    Path(file).unlink()
    plan.save(file)
    for words in (["plan", "show", file], ["plan", "apply", file], ["plan", "approve", file]):
        kadmin(*words, place=place)


@pytest.mark.parametrize("text", TEXTS)
def test_a_note_with_a_secret_is_refused(kadmin, typed, place, topic, text):
    """plan approve --note "password: hunter2"."""
    file = str(place.parent / "p.json")
    kadmin("config", "set", "retention.ms=604800001", f"topic={topic}", "--save", file, place=place, ends=(0,))
    before = Path(file).read_bytes()
    kadmin("plan", "approve", file, "--note", text.format(CORE), place=place, ends=(1, 2, 5))
    assert Path(file).read_bytes() == before


ADDRESSES = (
    ("quota", "usage", "http://alice:{}@127.0.0.1:1"),
    ("quota", "usage", "http://127.0.0.1:1/?sig={}"),
    ("quota", "usage", "http://alice:{}@127.0.0.1:1/x.log"),
    ("history", "record", "s3://alice:{}@bucket/x"),
    ("history", "record", "abfss://c@a.dfs.core.windows.net/x?sig={}"),
    ("history", "changes", "https://store/x?sv=1&sig={}"),
    ("diff", "https://store/a.json?sig={}", "b.json"),
    ("plan", "show", "https://alice:{}@host/p.json"),
    ("plan", "-f", "https://store/lines?sig={}"),
    ("runbook", "run", "https://store/x.ipynb?sig={}"),
    ("config", "describe", "topic=x", "--out", "https://store/x.csv?sig={}"),
)


@pytest.mark.parametrize("words", ADDRESSES, ids=" ".join)
def test_an_address_with_a_login_or_a_signature_is_not_repeated(kadmin, place, words):
    """The error had the signed address of the store."""
    kadmin(*(word.format(CORE) for word in words), place=place)


@pytest.mark.parametrize("name", ["passwd", "account_key", "dsn", "authorization"])
def test_a_secret_by_reference_is_carried_out_and_is_nowhere(
    kadmin, cluster, clean_broker, silence, place, monkeypatch, name
):
    """The plan had env:NAME, and the journal, the export or the history had what it holds."""
    monkeypatch.setenv("REFERRED", CORE)
    key = f"x.{name}"
    change = [
        "config",
        "set",
        f"{key}=env:REFERRED",
        "broker=1",
        "--allow-unknown",
        key,
        "--reason",
        f"{key}=env:REFERRED",
    ]
    kadmin(*change, "--save", "p.json", "--out", "p.csv", place=place, ends=(0,))
    kadmin("plan", "apply", "p.json", "--allow", f"{key} broker=1", "--out", "o.json", place=place, ends=(0,))
    for words in (
        ["config", "describe", "broker=1", "--out", "c.parquet"],
        ["export", "--out", "all.yaml"],
        ["history", "record", "lake"],
        ["plan", "log", "p.json", "--json"],
        ["plan", "log", "--out", "log.csv"],
    ):
        kadmin(*words, place=place, ends=(0,))
    silence(cluster.snapshot(), cluster.plans.log(), Plan.load("p.json"), cluster.configs.describe(broker="1"))
    assert {"p.json", "o.json", "c.parquet"} <= {file.name for file in place.rglob("*")}
