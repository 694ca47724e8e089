"""The binder: what a runbook's parameters may be, whoever hands them over. No broker, no kernel."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

import kadmin_nb as kn
from kadmin_nb.runbooks import binder
from kadmin_nb.runbooks.binder import parameters
from tests.runbooks.databricks_stand_in import Dbutils, Exit

CELL = """\
cluster: str = ""  # which cluster
users: list[str] = ["alice"]  # whom
limit: int = 10
share: float = 0.5
apply: bool = False  # change the cluster
note: str | None = None
"""
BIND = "import kadmin_nb as kn\nparams = kn.runbooks.bind(globals())"


def notebook(injected: str = "", cell: str = CELL) -> dict[str, Any]:
    """The globals of a notebook that ran its parameters cell, papermill's cell, and reached the binder."""
    space: dict[str, Any] = {"In": ["", cell, *([f"# Parameters\n{injected}"] if injected else []), BIND]}
    exec(cell, space)
    exec(injected, space)
    return space


def bound(injected: str = "", cell: str = CELL) -> Any:
    return kn.runbooks.bind(notebook(injected, cell), show=lambda text: None)


def test_without_anything_given_the_defaults_are_bound() -> None:
    """I opened it in Jupyter and ran all cells."""
    assert dataclasses.asdict(bound()) == {
        "cluster": "", "users": ["alice"], "limit": 10, "share": 0.5, "apply": False, "note": None
    }  # fmt: skip


@pytest.mark.parametrize(
    ("injected", "name", "expected"),
    [
        ('apply = "false"', "apply", False),
        ('apply = "FALSE"', "apply", False),
        ('apply = "true"', "apply", True),
        ("apply = True", "apply", True),
        ('cluster = "007"', "cluster", "007"),
        ('cluster = "nan"', "cluster", "nan"),
        ('cluster = "True"', "cluster", "True"),
        ('users = "[\\"a b\\", \\"007\\"]"', "users", ["a b", "007"]),
        ('users = ["x", "<default>"]', "users", ["x", "<default>"]),
        ("users = []", "users", []),
        ("limit = 7", "limit", 7),
        ('limit = "-7"', "limit", -7),
        ("share = 1", "share", 1.0),
        ('share = "2.5e-1"', "share", 0.25),
        ("note = None", "note", None),
        ('note = ""', "note", None),
        ('note = "none"', "note", "none"),
    ],
)
def test_a_value_is_bound_by_its_declared_type(injected: str, name: str, expected: object) -> None:
    """`-p apply false` changed the cluster: the text was true."""
    value = getattr(bound(injected), name)
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("injected", "words"),
    [
        ("cluster = 7", "cluster is declared str and got 7"),
        ("cluster = True", "cluster is declared str and got True"),
        ("cluster = None", "cluster is declared str and got None"),
        ("cluster = float('nan')", "cluster is declared str and got nan"),
        ("cluster = 1000.0", "cluster is declared str and got 1000.0"),
        ("apply = 1", "apply is declared bool and got 1"),
        ('apply = "yes"', "apply is declared bool and got 'yes'"),
        ('apply = ""', "apply is declared bool and got ''"),
        ('apply = "none"', "apply is declared bool and got 'none'"),
        ("apply = None", "apply is declared bool and got None"),
        ("limit = True", "limit is declared int and got True"),
        ("limit = 1000.0", "limit is declared int and got 1000.0"),
        ("share = float('nan')", "share is declared float and got nan: it is not finite"),
        ("share = float('inf')", "it is not finite"),
        ('share = "nan"', "it is not finite"),
        ("share = True", "share is declared float and got True"),
        (f"share = {10**400}", "share is declared float and got 1000"),
        (f'limit = "{"9" * 5000}"', "limit is declared int and got '999"),
        ('users = "alice"', "users is declared list[str] and got 'alice'"),
        ('users = "[7]"', "users is declared list[str] and got '[7]': [0]: expected str, got int"),
        ("users = [None]", "users is declared list[str] and got [None]"),
        ('users = "{}"', "users is declared list[str]"),
        ("users = 7", "users is declared list[str] and got 7"),
    ],
)
def test_a_value_of_another_type_is_refused(injected: str, words: str) -> None:
    """A user called 007 became the number 7 and nobody said a word."""
    with pytest.raises(kn.UsageError) as refused:
        bound(injected)
    assert words in str(refused.value)
    assert len(str(refused.value)) < 400
    assert ("-r cluster VALUE" in (refused.value.hint or "")) == injected.startswith("cluster")


@pytest.mark.parametrize(
    ("injected", "near"),
    [
        ('clutser = "prod"', "cluster"),
        ("aply = True", "apply"),
        ("user = []", "users"),
        ("zzz = float('nan')", "cluster"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(injected: str, near: str) -> None:
    """-p clutser prod ran on the default cluster, with a warning in a log."""
    with pytest.raises(kn.UsageError, match="unknown parameter") as refused:
        bound(injected)
    assert near in (refused.value.hint or "")


@pytest.mark.parametrize(
    "name", ["password", "sasl_password", "secret", "API_KEY", "apikey", "jaas", "auth_token", "credentials", "passwd"]
)
def test_no_parameter_is_called_like_a_secret(name: str) -> None:
    """The password stood in the document twice."""
    with pytest.raises(kn.UsageError, match="secret"):
        bound(f'{name} = "canary-9"')
    with pytest.raises(kn.UsageError, match="secret"):
        bound(cell=f'{name}: str = ""\n')


@pytest.mark.parametrize(
    "value",
    [
        'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="canary-9";',
        "https://alice:canary-9@registry:8081",
        "alice:canary-9@host:9092",
        "set sasl.jaas.config=canary-9 broker=1",
        "set ssl.keystore.password=canary-9 broker=1",
        "-----BEGIN PRIVATE KEY-----canary-9",
    ],
)
def test_a_value_that_looks_like_a_secret_is_refused_unseen(value: str) -> None:
    """It refused the JAAS text, and printed it to say so."""
    for injected in (f"cluster = {value!r}", f"users = {[value]!r}", f"users = {json.dumps([value])!r}"):
        with pytest.raises(kn.UsageError, match="looks like a secret") as refused:
            bound(injected)
        assert "canary-9" not in f"{refused.value}{refused.value.hint}"


@pytest.mark.parametrize(
    "value",
    ["localhost:9092,other:9093", "./client.properties", "set producer_byte_rate=5MB/s user=alice client-id==<default>",
     "set ssl.keystore.password=env:NAME broker=1", "reset ssl.keystore.password broker=1", "DOMAIN\\alice"],
)  # fmt: skip
def test_what_is_no_secret_passes(value: str) -> None:
    """It took my bootstrap servers for a password."""
    assert bound(f"cluster = {value!r}").cluster == value


def test_the_names_in_the_notebook_hold_the_bound_values() -> None:
    """A later cell wrote `if apply:` and read the text "false"."""
    space = notebook('apply = "false"')
    kn.runbooks.bind(space, show=lambda text: None)
    assert space["apply"] is False


def test_what_was_bound_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The document does not show what the run was told."""
    kn.runbooks.bind(notebook('cluster = "a\u202eb"'))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == r"cluster = 'a\u202eb'"
    assert lines[4] == "apply = False"


def test_the_record_is_frozen() -> None:
    """A cell set params.apply to True."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        bound().apply = True


def test_running_the_binder_again_in_jupyter_binds_what_stands_now() -> None:
    """After I edited and reran the first cell, bind took its own line for a parameter."""
    space = notebook()
    kn.runbooks.bind(space, show=lambda text: None)
    space["In"] += ["x = 5", CELL, BIND, BIND, "x = 5", BIND]
    space["limit"] = 99
    assert kn.runbooks.bind(space, show=lambda text: None).limit == 99


def test_without_a_parameters_cell_it_says_what_one_looks_like() -> None:
    """It bound nothing and said nothing."""
    with pytest.raises(kn.UsageError, match="no cell above declares parameters"):
        kn.runbooks.bind({"In": ["", BIND]})


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("a: str = ''\nb = 5\n", "declares none: b = 5"),
        ("a: dict = {}\n", "unknown parameter type dict"),
        ("a: list[list[int]] = []\n", "unknown parameter type list"),
        ("a: int = None\n", "a is declared int and got None"),
        ("a: bool = 0\n", "a is declared bool and got 0"),
        ("import os\na: str = os.getcwd()\n", "declares none"),
        ("a: str = str(1)\n", "declares none: a: str = str(1)"),
        ("a: int\n", "declares none: a: int"),
        ("host: str = 'https://u:p@h'\n", "looks like a secret"),
    ],
)
def test_a_cell_that_declares_badly_is_refused(cell: str, words: str) -> None:
    """The type was a wish: nothing checked it."""
    with pytest.raises(kn.UsageError) as refused:
        parameters(cell)
    assert words in str(refused.value)


def test_help_and_types_are_read_from_the_cell() -> None:
    """show printed "Unknown type"."""
    cell = "from_: int | None = -5  # since\nnames: 'list[str]' = [  # not this\n  'x#y',\n]  # whom # really\n"
    assert [(str(p), p.help) for p in parameters(cell)] == [
        ("from_: int | None = -5", "since"),
        ("names: list[str] = ['x#y']", "whom # really"),
    ]


@pytest.fixture
def on_databricks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "17.3")


def as_task(dbutils: Dbutils) -> Any:
    return kn.runbooks.bind({**notebook(), "dbutils": dbutils}, show=lambda text: None)


@pytest.mark.usefixtures("on_databricks")
def test_a_task_without_parameters_makes_widgets_with_the_defaults() -> None:
    """The job said InputWidgetNotDefined."""
    dbutils = Dbutils()
    assert dataclasses.asdict(as_task(dbutils)) == dataclasses.asdict(bound())
    assert dbutils.widgets.made == {
        "cluster": "", "users": '["alice"]', "limit": "10", "share": "0.5", "apply": "false", "note": ""
    }  # fmt: skip


@pytest.mark.usefixtures("on_databricks")
def test_a_tasks_text_is_bound_by_type() -> None:
    """apply="false" is text there, and text is true."""
    passed = {"cluster": "007", "users": '["nan", "True"]', "limit": "5", "apply": "false", "note": "x"}
    params = as_task(Dbutils(**passed))
    assert dataclasses.asdict(params) == {
        "cluster": "007", "users": ["nan", "True"], "limit": 5, "share": 0.5, "apply": False, "note": "x"
    }  # fmt: skip


@pytest.mark.usefixtures("on_databricks")
@pytest.mark.parametrize(
    ("passed", "words"),
    [({"apply": "perhaps"}, "declared bool"), ({"clutser": "x"}, "unknown parameter"), ({"password": "x"}, "secret"),
     ({"cluster": "x://a:b@c"}, "looks like a secret"), ({"users": "alice"}, "list[str]")],
)  # fmt: skip
def test_a_task_is_refused_what_papermill_is(passed: dict[str, str], words: str) -> None:
    """The job ran for months with a misspelt parameter."""
    with pytest.raises(kn.UsageError) as refused:
        as_task(Dbutils(**passed))
    assert words in str(refused.value)


def test_the_stand_in_alone_is_not_databricks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable called dbutils was enough."""
    monkeypatch.delenv("DATABRICKS_RUNTIME_VERSION", raising=False)
    assert as_task(Dbutils(cluster="x")).cluster == ""
    binder.hand_back_to_databricks({"dbutils": Dbutils()}, "{}")


@pytest.mark.usefixtures("on_databricks")
def test_finishing_hands_the_record_to_the_job() -> None:
    """The job's next task had nothing to read."""
    space = {**notebook(), "dbutils": Dbutils()}
    params = kn.runbooks.bind(space, show=lambda text: None)
    with pytest.raises(Exit) as ended:
        kn.runbooks.record("mine", params, space).finish()
    assert json.loads(str(ended.value))["state"] == "nothing to do"


def test_the_defaults_of_a_widget_bind_back() -> None:
    """A default changed on its way through a widget."""
    for p in parameters(CELL):
        assert p.bind(binder.widget_text(p.default)) == p.default


def test_later_tasks_have_the_id_of_the_cluster_that_was_read(monkeypatch):
    """The schema had two clusters, and the task behind did not know which of them it was about."""
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "17.3")
    dbutils = Dbutils()
    with pytest.raises(Exit):
        binder.hand_back_to_databricks({"dbutils": dbutils}, "{}", "4L6g3nShT-eMCtK--X86sw")
    assert dbutils.taskValues.told == {"cluster_id": "4L6g3nShT-eMCtK--X86sw"}
