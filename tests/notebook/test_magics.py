"""The magics on a real Kafka: describe, stage, plan, apply; variables; forms; destinations; failures."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pandas as pd
import pyarrow as pa
import pytest

import kadmin_nb as kn
from kadmin_nb.cluster.changing import Changes
from kadmin_nb.frames.answer_frame import AnswerFrame
from kadmin_nb.model.changes import Outcome
from kadmin_nb.plans.outcomes import ApplyResult, Outcomes
from kadmin_nb.plans.plan import Plan
from kadmin_nb.plans.stage import Stage, edits_of
from tests.lost_journals import lose_each_journal

pytestmark = pytest.mark.broker

HOSTILE = ["<default>", "--apply", "x y=z", "DOMAIN\\alice", "{who}", "a'b\"c", "#", "%x; y", "\x1b[31mred"]


def quotas(cluster, **whom):
    rows = cluster.quotas.describe(**whom, strict=True).to_arrow().to_pylist()
    return {(row["user"], row["client_id"], row["level"]): row["value"] for row in rows}


@pytest.mark.parametrize("text", HOSTILE)
def test_a_variable_names_exactly_that_client(live, cluster, text):
    """My variable held <default>, and the whole company was throttled."""
    live["who"] = text
    before = cluster.quotas.describe().to_pandas()
    live("%kquota set producer_byte_rate=1kB user={who} client-id={who}")
    plan = live("%kquota plan")
    assert [dict(change.resource.parts) for change in plan.changes] == [{"user": text, "client-id": text}]
    assert live("%kquota apply").ok
    assert quotas(cluster, user=text, client_id=text) == {(text, text, "CLIENT_OF_USER"): 1000.0}
    described = live("%kquota describe user={who} client-id={who}")
    assert described[["user", "client_id", "value"]].values.tolist() == [[text, text, 1000.0]]
    live("%kquota remove producer_byte_rate user={who} client-id={who}")
    live("%kquota plan")
    live("%kquota apply")
    pd.testing.assert_frame_equal(cluster.quotas.describe().to_pandas(), before)


def test_special_values_pass_through_variables(live):
    """kn.DEFAULT in a variable was refused."""
    live["whom"] = kn.DEFAULT
    live("%kquota set producer_byte_rate=1kB client-id={whom}")
    assert [str(change.resource) for change in live("%kquota plan").changes] == ["client-id=<default>"]


def test_a_semicolon_hushes_an_answer_and_not_a_variable(live):
    """I ended the line with ; as behind any expression, and got two hundred rows."""
    assert live("%kquota describe;") is None
    assert live("%kquota describe") is not None
    live("mine = %kquota describe;")
    assert isinstance(live["mine"], AnswerFrame)


def test_a_broken_text_is_one_line(live):
    """Half a surrogate in my variable gave a stack trace from inside the wire."""
    live["who"] = "\ud800"
    live.refused("%kquota describe user={who}")


def test_a_tree_is_a_frame(live, cluster, name):
    """The tree had no columns to filter by, although the docs say that all that reads is a DataFrame."""
    who = name("user")
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", "1kB", user=who)
    stage.plan().apply().raise_for_errors()
    tree = live("%kquota tree")
    assert isinstance(tree, pd.DataFrame)
    own = tree[tree["entity"] == f"user={who}"]
    assert own[["entity", "key", "value"]].values.tolist() == [[f"user={who}", "producer_byte_rate", 1000.0]]


@pytest.mark.parametrize("ending", ["parquet", "csv", "json", "jsonl"])
def test_an_answer_goes_into_a_file(live, tmp_path, ending):
    """--out cap.parquet was refused, although --help offers it."""
    live["place"] = place = tmp_path / f"cap.{ending}"
    assert live("%kquota describe user=nobody --out {place}") is None
    assert place.exists()
    assert not live.displayed


@pytest.mark.parametrize(
    ("words", "kind"),
    [("", AnswerFrame), ("--as pandas", pd.DataFrame), ("--as arrow", pa.Table)],
)
def test_a_read_is_a_frame(live, words, kind):
    """The answer was not a DataFrame, and merge failed."""
    answer = live(f"x = %kquota describe user=nobody {words}\nx")
    assert type(answer) is kind
    names = list(answer.columns) if isinstance(answer, pd.DataFrame) else answer.column_names
    assert names == ["entity", "level", "user", "client_id", "ip", "key", "value"]


def test_plans_and_stages_are_themselves_until_asked(live, name):
    """The plan came as a bare frame, without its id."""
    who = name("user")
    assert isinstance(live(f"%kquota set producer_byte_rate=1kB user={who}"), Stage)
    assert isinstance(live("%kquota plan"), Plan)
    assert list(live("%kquota plan --as pandas")["after"]) == ["1000"]
    assert isinstance(live("%kquota apply"), Outcomes)


def test_json_in_a_notebook(live):
    """--json did nothing."""
    assert live("%kquota describe user=nobody --json") == "[]"


@pytest.mark.parametrize("line", ["%kquota describe user=nobody --out mine"])
def test_an_answer_that_goes_into_a_variable_shows_nothing(live, line):
    """I named a variable, and the frame was shown all the same."""
    assert live(line) is None
    assert type(live["mine"]) is AnswerFrame
    assert not live.displayed


def test_a_cell_stages_all_its_lines(live, cluster, name):
    """A cell's value could not be kept."""
    who = live["who"] = name("user")
    cell = (
        "%%kquota --out staged\nset producer_byte_rate=1kB user={who}\n\n# more\nset consumer_byte_rate=2kB user={who}"
    )
    assert live(cell) is None
    assert [row["wanted"] for row in live["staged"].to_arrow().to_pylist()] == ["1000", "2000"]
    live(f"%%kconfig\nset interval.ms=5000 client-metrics={who}")
    assert len(live("%kconfig plan")) == 3
    assert len(live("%kquota discard")) == 0


def test_a_cell_with_an_error_stages_nothing(live):
    """Half of my cell was staged."""
    error = live.refused("%%kquota\nset producer_byte_rate=1kB user=a\nset producer_byte_rate=-1 user=b", kn.Invalid)
    assert str(error).startswith("line 2: producer_byte_rate cannot be -1")
    assert "nothing is staged" in str(live.refused("%kquota plan"))


def test_a_cells_options(live, name):
    """--reason above the cell was lost."""
    who = name("user")
    live(f"%%kquota --reason 'for the fair'\nset producer_byte_rate=1kB user={who}")
    assert live("%kquota plan").reason == "for the fair"
    live("%kquota discard")
    outcomes = live(f"%%kquota --apply\nset producer_byte_rate=1kB user={who}\nset consumer_byte_rate=1kB user={who}")
    assert isinstance(outcomes, Outcomes)
    assert outcomes.to_pandas()["state"].tolist() == ["verified", "verified"]
    assert "nothing is staged" in str(live.refused("%kquota plan"))


def test_a_mixed_cell(live, cluster, name):
    """Quotas and configs of one change needed two cells."""
    who = name("user")
    live(f"%%kadmin\nset producer_byte_rate=1kB user={who}\nset log.cleaner.backoff.ms=15000 broker=1")
    assert [change.kind for change in live("%kquota plan").changes] == ["quota", "config"]


def test_the_same_key_again_replaces_and_says_so(live, name):
    """I corrected a line, and both were sent."""
    who = name("user")
    live(f"%kquota set producer_byte_rate=1kB user={who}")
    staged = live(f"%kquota set producer_byte_rate=2kB user={who}")
    assert [(row["wanted"], row["note"]) for row in staged.to_arrow().to_pylist()] == [
        ("2000", "replaces the earlier set 1000")
    ]


def test_apply_takes_only_what_was_shown_last(live, cluster, name):
    """It applied what I had staged after looking at the plan."""
    who = name("user")
    live(f"%kquota set producer_byte_rate=1kB user={who}")
    assert "no plan was shown" in str(live.refused("%kquota apply"))
    first = live("%kquota plan")
    live(f"%kquota set consumer_byte_rate=1kB user={who}")
    assert "staged or discarded since" in str(live.refused("%kquota apply"))
    second = live("%kquota plan")
    live.refused(f"%kquota apply {first.id}", kn.NotFound)
    live.refused("%kquota apply abc", kn.NotFound)
    assert len(live(f"%kquota apply {second.id[:8]}")) == 2
    assert "no plan was shown" in str(live.refused("%kquota apply"))
    assert "nothing is staged" in str(live.refused("%kquota plan"))


def test_the_stage_is_the_clusters_own(live, cluster, name):
    """The widget and the magic staged into two places."""
    live["mine"] = cluster
    live("%kadmin use {mine}")
    cluster.stage.set_quota("producer_byte_rate", "1kB", user=name("user"))
    assert len(live("%kquota plan")) == 1
    cluster.stage.set_quota("consumer_byte_rate", "1kB", user=name("user"))
    assert "staged or discarded since" in str(live.refused("%kquota apply"))
    live("%kquota discard")
    assert len(cluster.stage) == 0


def test_a_change_that_is_refused_is_raised_and_the_stage_stays(live, cluster, name):
    """It said that it was done; nothing was."""
    live(f"%kconfig set interval.ms=soon client-metrics={name('metrics')}")
    plan = live("%kconfig plan")
    assert plan._refused
    error = live.refused("%kconfig apply", kn.PlanRefused)
    assert "1 of 1 rows" in str(error)
    assert len(live("%kquota plan")) == 1


@pytest.mark.parametrize("stops", [False, True], ids=["to its end", "stopped"])
def test_what_is_in_force_is_no_longer_staged(live, cluster, monkeypatch, name, stops):
    """55,000 of 100,000 rows were in force, and all of them stayed staged."""
    users = [name("user") for _ in range(3)]
    live["mine"] = cluster
    live("%kadmin use {mine}")
    for user in users:
        live(f"%kquota set producer_byte_rate=1kB user={user}")
    live("%kquota plan")

    def half(cluster, plan, *_, **__):
        states = zip(plan.changes, ("verified", "unverified", "unchanged"), strict=True)
        outcomes = Outcomes.of(
            plan.id, plan.cluster_id, ApplyResult([Outcome(change, state) for change, state in states])
        )
        if stops:
            raise kn.PartlyFailed("the journal cannot be written", outcomes=outcomes)
        return outcomes

    monkeypatch.setattr(Changes, "apply", half)
    live.refused("%kquota apply", kn.PartlyFailed)
    assert [str(edit.resource) for edit in edits_of(cluster.stage).staged().values()] == [f"user={users[1]}"]
    cluster.stage.discard()


@pytest.mark.parametrize("line", ["%kquota apply", "%kquota apply --out kept"])
def test_changes_that_are_not_verified_are_raised_with_their_rows(live, monkeypatch, name, line):
    """A change that one broker never saw looked like any other."""
    live(f"%kquota set producer_byte_rate=1kB user={name('user')}")
    live("%kquota plan")

    def half(cluster, plan, *_, **__):
        return Outcomes.of(plan.id, plan.cluster_id, ApplyResult([Outcome(plan.changes[0], "unverified")]))

    monkeypatch.setattr(Changes, "apply", half)
    error = live.refused(line, kn.PartlyFailed)
    assert "1 of 1 changes are not verified" in str(error)
    assert "1 unverified" in live.displayed[0]["data"]["text/plain"]
    assert isinstance(error.outcomes, Outcomes)
    assert ("kept" in live.shell.user_ns) == ("kept" in line)
    monkeypatch.undo()
    assert len(live("%kquota plan")) == 1


def test_all_resources_failing_is_an_error_and_their_rows_are_shown(live, name):
    """Two topics that are not there gave an empty frame."""
    error = live.refused(f"%kconfig describe topic={name('a')} topic={name('b')}", kn.PartlyFailed)
    assert "2 of 2 rows failed" in str(error)
    [shown] = live.displayed
    assert "UNKNOWN_TOPIC_OR_PARTITION" in shown["data"]["text/plain"]
    live.refused(f"%kconfig describe topic={name('a')}", kn.NotFound)


def test_another_cluster_for_one_call(live, kafka, name):
    """One look at another cluster, and my staged changes were gone."""
    who = name("user")
    live(f"%kquota set producer_byte_rate=1kB user={who}")
    other = f"localhost:{kafka.bootstrap.split(':')[1]}"
    assert live(f"%kquota describe user=nobody --cluster {other} --property client.id=x").empty
    error = live.refused(f"%kquota set producer_byte_rate=1kB user={who} --cluster {other}", kn.UsageError)
    assert f"%kadmin use {other}" in error.hint
    live.refused(f"%kquota plan --cluster {other}", kn.UsageError)
    assert "1 changes are staged" in str(live.refused(f"%kadmin use {other}", kn.UsageError))
    assert len(live(f"%kadmin use {kafka.bootstrap}").stage) == 1
    assert live(f"%kquota set producer_byte_rate=1kB user={who} --cluster {other} --apply").ok
    assert len(live("%kquota plan")) == 1


def test_a_cluster_that_cannot_be_reached_does_not_become_current(live, kafka):
    """After a typo in `use` I had no cluster at all."""
    live.refused("%kadmin use 127.0.0.1:1", kn.errors.ConnectionFailed)
    assert kafka.bootstrap in repr(live("%kadmin use " + kafka.bootstrap))
    assert live("%kquota describe user=nobody").empty


def test_plans_in_files(live, tmp_path, name):
    """A plan that somebody else made could not be applied from here."""
    place = tmp_path / "p.json"
    plan = live(f"%kquota set producer_byte_rate=1kB user={name('user')} --save '{place}'")
    assert live(f"%kplan show '{place}'") == plan
    assert live(f"%kplan apply '{place}'").ok
    assert live(f"%kplan verify '{place}'").to_pandas()["state"].tolist() == ["verified"]
    lines = tmp_path / "lines.txt"
    lines.write_text("set producer_byte_rate=1kB user=x\n")
    assert len(live(f"%kplan -f '{lines}'")) == 1


def test_pairs_from_a_variable(live):
    """resolve wanted a file, and I had a frame."""
    live["pairs"] = pd.DataFrame({"user": ["a", "b"], "client_id": ["x", ""]})
    for line in (
        "%kquota resolve --pairs pairs --keys producer_byte_rate",
        "%kquota resolve --pairs {pairs} -k producer_byte_rate",
    ):
        assert live(line)["user"].tolist() == ["a", "b"]
    live["pairs"] = 5
    assert "pairs cannot be a int" in str(live.refused("%kquota resolve --pairs pairs"))


def test_spark_that_is_not_installed_is_one_line(live, monkeypatch):
    """--as spark ended in an ImportError from deep inside."""
    for module in [name for name in sys.modules if name.split(".")[0] == "pyspark"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    error = live.refused("%kquota describe --as spark", kn.errors.Unsupported)
    assert "pyspark is not installed" in str(error)


def test_local_kafkas_are_listed(notebook):
    """Which one was running?"""
    assert "bootstrap" in notebook("%kadmin local").columns


def test_runbooks_are_listed(notebook):
    """Which runbooks are there?"""
    assert "change_quotas" in notebook("%kadmin runbook list").to_string()


HOSTILE_FRAME = ["a\x1b[31mred", "b\u202egnp.exe", "<b>c</b>"]


def test_a_name_that_no_quota_has_gets_the_nearest(live, cluster, name):
    """A letter was wrong, and the frame was empty."""
    stem = name("team")
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", 1000, user=f"{stem}-orders")
    stage.plan().apply().raise_for_errors()
    assert len(live(f"%kquota describe user={stem}-ordres")) == 0
    [shown] = live.displayed
    hint = f"Hint: No quota is set on user={stem}-ordres; did you mean user={stem}-orders?"
    assert shown["data"] == {"text/plain": hint}


def test_hostile_names_obey_nobody_in_a_frame(live, cluster, name):
    """A client-id turned my terminal red."""
    for hostile in HOSTILE_FRAME:
        live["who"] = hostile
        live("%kquota set producer_byte_rate=1kB user={who} --apply")
    live["names"] = HOSTILE_FRAME
    frame = live("%kquota describe user={names}")
    assert sorted(frame["user"]) == HOSTILE_FRAME[2:] + HOSTILE_FRAME[:2]
    shown, _ = live.shell.display_formatter.format(frame)
    for text in (shown["text/plain"], shown["text/html"]):
        assert not {"\x1b", "\u202e"} & set(text)
    assert "a\\x1b[31mred" in shown["text/plain"]
    assert "<b>" not in shown["text/html"]
    mine = pd.DataFrame({"user": HOSTILE_FRAME})
    shown, _ = live.shell.display_formatter.format(mine)
    assert shown["text/plain"] == repr(mine)
    assert shown["text/html"] == mine._repr_html_()


def displayed(live, value) -> dict[str, str]:
    """What the shell shows of a value."""
    shown, _ = live.shell.display_formatter.format(value)
    return shown


def test_a_cell_shows_what_belongs_to_its_answer(live, cluster, name):
    """The terminal said why; the notebook had a bare table."""
    who = name("user")
    live(f"%kquota set producer_byte_rate=1kB user={who} --apply")
    resolved = displayed(live, live(f"%kquota resolve user={who} client-id=app -k producer_byte_rate"))
    for form in ("text/plain", "text/html"):
        assert f"1 limit applies to user={who} client-id=app; 1 is shared by its client-ids" in resolved[form]
        assert f"set on user={who}" in re.sub("<[^>]*>", "", resolved[form])
    plain = displayed(live, live(f"%kquota resolve user={who} client-id=app -k producer_byte_rate --as pandas"))
    assert "set by" not in plain["text/plain"]


def test_a_plan_with_refused_rows_says_so_below_them(live, name):
    """The refusal was a word in the seventh column, and I applied."""
    live(f"%kconfig set interval.ms=soon client-metrics={name('metrics')}")
    shown = displayed(live, live("%kconfig plan"))
    for form in ("text/plain", "text/html"):
        assert "Invalid: 1 of 1" in shown[form]


def test_a_warning_shows_where_another_library_shows_frames(live, name):
    """A table widget took over all frames, and the reasons were gone."""
    who, formatter = name("user"), live.shell.display_formatter.formatters["text/html"]
    formatter.for_type(pd.DataFrame, lambda frame: "<i>theirs</i>")
    answer = live(f"%kquota resolve user={who} client-id=app -k producer_byte_rate")
    assert f"nothing limits user={who} client-id=app" in displayed(live, answer)["text/html"]
    assert displayed(live, answer.head())["text/html"] == "<i>theirs</i>"


@pytest.mark.spark
def test_spark_frames(live):
    """--as spark gave something that Spark did not know."""
    frame = live("%kquota describe user=nobody --as spark")
    assert frame.columns == ["entity", "level", "user", "client_id", "ip", "key", "value"]
    assert frame.count() == 0


def test_terminal_ipython(kafka, tmp_path):
    """In plain IPython it printed nothing, or a stack trace."""
    script = f"%load_ext kadmin_nb\n%kadmin use {kafka.bootstrap}\n%kquota describe user=\n"
    done = subprocess.run(
        [sys.executable, "-m", "IPython", "--no-banner", "--colors=NoColor", "--simple-prompt"],
        input=script, capture_output=True, text=True, check=True, timeout=60,
        env={**os.environ, "IPYTHONDIR": str(tmp_path)},
    )  # fmt: skip
    assert "1 broker, Kafka 4.4, " in done.stdout
    assert "UsageError: user= has no value" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_property_without_effect_is_noted_in_the_notebook(notebook, kafka):
    """%kadmin use … --property retries=3 was taken, and did nothing."""
    with pytest.warns(UserWarning, match="no effect here: retries; "):
        notebook(f"%kadmin use {kafka.bootstrap} --property retries=3")


def test_kafkas_own_tool_works_on_the_current_cluster(live, notebook, name, capsys):
    """`%kadmin kafka-configs` asked for an address that the notebook had been given in its first cell."""
    user = name("ann")
    said = live(f"%kadmin kafka-configs --alter --user {user} --add-config producer_byte_rate=5")
    assert str(said) == f"Completed updating config for user {user}."
    assert capsys.readouterr().err.startswith(f"danger: user={user} producer_byte_rate: ")
    shown = live(f"%kadmin kafka-configs --describe --user {user}")
    assert str(shown) == f"Quota configs for user-principal '{user}' are producer_byte_rate=5.0"
    live(f"%kadmin kafka-configs --alter --user {user} --delete-config producer_byte_rate")


def test_kafkas_own_tool_changes_no_cluster_that_nobody_named(notebook):
    """Nothing was chosen, and the only profile of the folder was production."""
    refused = notebook.refused(
        "%kadmin kafka-configs --alter --user a --add-config producer_byte_rate=1", kn.UsageError
    )
    assert str(refused) == "--bootstrap-server is required"


@pytest.mark.parametrize("form", ["--json", "--out rows", "--out {file}"])
def test_a_run_that_ended_badly_has_its_rows_where_the_line_asked_for_them(form, live, name, tmp_path, monkeypatch):
    """The journal was lost, and the variable that the next cell reads was not there."""
    live["file"] = str(tmp_path / "rows.json")
    lose_each_journal(monkeypatch)
    line = f"%kquota set producer_byte_rate=5MB/s user={name('user')} --apply"
    lost = live.refused(f"{line} {form}", kn.PartlyFailed)
    assert "was stopped: the journal" in str(lost)
    if form == "--json":
        assert json.loads(live.displayed[-1]["data"]["text/plain"])[0]["state"] == "verified"
    elif form == "--out rows":
        assert live["rows"].to_arrow()["state"].to_pylist() == ["verified"]
    else:
        assert json.loads((tmp_path / "rows.json").read_text())[0]["state"] == "verified"


def test_a_group_is_asked_and_the_current_cluster_stays(live, kafka, tmp_path, monkeypatch):
    """After --cluster @eu the next line went to the last cluster of the group."""
    toml = tmp_path / "kadmin-nb.toml"
    toml.write_text(
        f'[profiles.a]\nbootstrap = "{kafka.bootstrap}"\n'
        '[profiles.b]\nbootstrap = "127.0.0.1:1"\ndefault.api.timeout.ms = 2000\n'
        '[groups.eu]\nmembers = ["a", "b"]\n'
    )
    monkeypatch.setenv("KADMIN_CONFIG", str(toml))
    asked = live("%kquota describe --cluster @eu")
    assert asked["cluster"].to_pylist()[-1] == "b"
    assert "127.0.0.1:1" in asked["message"].to_pylist()[-1]
    assert isinstance(live("%kquota describe"), pd.DataFrame)  # b would have refused the connection
