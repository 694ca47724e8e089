"""What the runbooks and notebooks say of themselves. No broker, no kernel."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb import paths
from kadmin_nb.runbooks import binder, catalogue
from kadmin_nb.runbooks.catalogue import SKELETON

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
ALL = sorted([*NOTEBOOKS.rglob("*.ipynb"), SKELETON])


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    """Somebody committed the output of production."""
    document = json.loads(path.read_text())
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
    assert set(document["metadata"]) == {"kernelspec", "language_info"}
    tags = [cell["metadata"].get("tags") for cell in code]
    assert ["parameters"] in tags[:2]  # a notebook that is no runbook begins with its Kafka
    assert not any(cell["metadata"].keys() - {"tags"} for cell in code)
    if path.parent.name == "runbooks":
        assert tags[0] == ["parameters"]
        assert "kn.runbooks.bind(globals())" in "".join(code[1]["source"])


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_papermill_reads_the_same_parameters(path: Path) -> None:
    """papermill --help-notebook said something else than runbook list."""
    papermill = pytest.importorskip("papermill")
    theirs = papermill.inspect_notebook(str(path))
    ours = {p.name: p for p in kn.runbooks.find(path).parameters}
    assert list(ours) == list(theirs)
    for name, p in ours.items():
        assert theirs[name]["inferred_type_name"] == p.kind
        assert theirs[name]["help"] == p.help


def test_the_shipped_runbooks_are_listed() -> None:
    """I could not find out what there is."""
    rows = {row["name"]: row["description"] for row in kn.runbooks.list().to_arrow().to_pylist()}
    assert "`set producer_byte_rate=5MB/s user=alice`" in rows["change_quotas"]


def test_show_says_type_default_and_help() -> None:
    """I had to open the notebook to see what it takes."""
    lines = kn.runbooks.show("change_quotas").splitlines()
    assert lines[0].startswith("change_quotas: ")
    assert any(line.startswith("  apply: bool = False ") for line in lines)


def test_a_runbook_is_found_by_name_or_path(written: Callable[..., Path]) -> None:
    """Mine was not found."""
    mine = kn.runbooks.find(written("a: int = 1  # one\n"))
    assert (mine.name, mine.title, mine.description) == ("mine", "Mine", "Does what I want.")
    assert kn.runbooks.find("change_quotas").path.parent == NOTEBOOKS / "runbooks"


def test_a_misspelt_runbook_is_answered_with_the_nearest() -> None:
    """It said FileNotFoundError."""
    with pytest.raises(kn.NotFound, match="change_qotas") as refused:
        kn.runbooks.find("change_qotas")
    assert refused.value.hint == "Did you mean change_quotas?"


@pytest.mark.parametrize("text", ["", "{}", '{"cells": 5}', "no json"])
def test_a_file_that_is_no_notebook_is_named(tmp_path: Path, text: str) -> None:
    """It died of a KeyError."""
    place = tmp_path / "x.ipynb"
    place.write_text(text)
    with pytest.raises(kn.Invalid, match=r"x\.ipynb is not a notebook"):
        kn.runbooks.find(place)


def test_a_notebook_without_parameters_cell_is_refused(tmp_path: Path) -> None:
    """papermill put the values at the top, where nobody read them."""
    place = tmp_path / "x.ipynb"
    place.write_text('{"cells": []}')
    with pytest.raises(kn.Invalid, match="no cell tagged parameters"):
        kn.runbooks.find(place)


def test_a_cell_in_another_language_is_named(written: Callable[..., Path]) -> None:
    """SyntaxError, with a stack of ours."""
    with pytest.raises(kn.Invalid, match="not Python"):
        kn.runbooks.find(written("apply <- FALSE\n x y"))


def test_in_a_wheel_they_lie_in_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the wheel there were none."""
    source = NOTEBOOKS / "runbooks" / "change_quotas.ipynb"
    (tmp_path / "shipped").mkdir()
    (tmp_path / "shipped" / "other.ipynb").write_text(source.read_text())
    monkeypatch.setattr(paths, "RUNBOOKS", (tmp_path / "shipped", tmp_path / "nowhere"))
    assert [r.name for r in catalogue.runbooks()] == ["other"]


def test_a_new_runbook_is_one(tmp_path: Path) -> None:
    """I copied an old one, and it kept that one's name in its records."""
    place = kn.runbooks.new("weekly-limits", tmp_path)
    assert place == tmp_path / "weekly-limits.ipynb"
    found = kn.runbooks.find(place)
    assert (found.name, found.title) == ("weekly-limits", "weekly-limits")
    assert {"cluster", "apply", "limit"} <= {p.name for p in found.parameters}
    assert (
        'kn.runbooks.record("weekly-limits", params, globals())'
        in json.loads(place.read_text())["cells"][3]["source"][-1]
    )


def test_a_new_runbook_overwrites_nothing(tmp_path: Path) -> None:
    """My runbook of last year was gone."""
    (tmp_path / "mine.ipynb").write_text("mine")
    with pytest.raises(kn.UsageError, match=r"mine\.ipynb is there already"):
        kn.runbooks.new("mine", tmp_path)
    assert (tmp_path / "mine.ipynb").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../x", "is not a runbook name"),
        ("a b", "is not a runbook name"),
        ("", "is not a runbook name"),
        ("apply_plan", "comes with kadmin_nb"),
    ],
)
def test_a_new_runbook_needs_a_name_of_its_own(tmp_path: Path, name: str, words: str) -> None:
    """It was written into the folder above."""
    with pytest.raises(kn.UsageError, match=words):
        kn.runbooks.new(name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_new_runbook_needs_a_folder(tmp_path: Path) -> None:
    """FileNotFoundError, with a stack."""
    with pytest.raises(kn.NotFound, match="cannot be written: No such file"):
        kn.runbooks.new("mine", tmp_path / "none")


def test_importing_the_room_is_light() -> None:
    """import kadmin_nb took papermill's 1.3 seconds."""
    heavy = "{'papermill', 'nbformat', 'nbclient', 'pyarrow', 'pandas', 'jupyter_client', 'nbconvert'}"
    code = f"import sys, kadmin_nb; kadmin_nb.runbooks.bind; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_foreign_runbook_is_shown_and_obeyed_by_no_terminal(tmp_path):
    """Looking at a notebook that somebody had sent cleared the window, before anybody ran it."""
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# a title\x1b[2J\n", "line\x07 and\ttab"]},
        {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "source": ["limit: int = 1  # \u202ehelp"]},
    ]
    place = tmp_path / "foreign.ipynb"
    place.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    text = kn.runbooks.show(place)
    assert all(line.isprintable() for line in text.splitlines())
    assert r"a title\x1b[2J" in text


def test_a_word_of_seven_letters_is_not_what_three_meant() -> None:
    """`-p usr=x` of a runbook without a user asked whether I meant cluster."""
    with pytest.raises(kn.UsageError, match="unknown parameter usr") as refused:
        binder.refuse_unknown(["usr"], ("cluster", "clients"))
    assert refused.value.hint == "It takes cluster, clients."
    with pytest.raises(kn.UsageError) as refused:
        binder.refuse_unknown(["usr"], ("cluster", "user"))
    assert refused.value.hint == "Did you mean user?"
