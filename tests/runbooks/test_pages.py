"""The page of a run, and what the terminal shows of it: a report that begins with its verdict. No broker, no kernel."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import nbformat
import pytest

from kadmin_nb.frames import schemas
from kadmin_nb.frames.answer import Answer
from kadmin_nb.runbooks.launcher import Run
from kadmin_nb.runbooks.page import write_page
from kadmin_nb.runbooks.report_checks import Verdicts
from kadmin_nb.runbooks.run_record import RunRecord

pytest.importorskip("nbconvert")

HOSTILE = "<img src=x onerror=alert(1)>"
CHANGE = {
    "row": 1, "kind": "quota", "op": "set", "resource": f"user={HOSTILE}", "key": "producer_byte_rate", "old": None,
    "wanted": "5000000", "after": "5000000", "old_known": True, "level": "USER", "validated": "ok", "note": None,
}  # fmt: skip
OUTCOME = {**CHANGE, "state": "verified", "error": None, "message": None, "brokers_agreeing": 1, "brokers": 1}
PLANNED: dict[str, Any] = {
    "runbook": "mine", "state": "planned", "ok": True, "changed": False, "written": "2026-11-22T10:00:00+00:00",
    "parameters": {"apply": False, "changes_id": ""}, "plan_id": "a" * 64, "changes_id": "b" * 64, "plan": [CHANGE],
    "error": None, "verdicts": [], "outcomes": [], "cluster_id": "here", "reason": HOSTILE,
}  # fmt: skip
LIMIT = {"type": "PlanRefused", "message": "the plan has 2 changes, the limit is 1", "hint": "Raise limit."}
REFUSED = {**PLANNED, "state": "failed", "error": LIMIT}
SLIP = {"type": "ZeroDivisionError", "message": "division by zero", "hint": None}


def read(record: dict[str, Any]) -> RunRecord:
    return msgspec.convert(record, RunRecord)


def code(source: str, *outputs: Any, tags: tuple[str, ...] = ()) -> Any:
    return nbformat.v4.new_code_cell(source, outputs=list(outputs), metadata={"tags": list(tags)})


def printed(text: str) -> Any:
    return nbformat.v4.new_output("stream", name="stdout", text=text)


def ended_by(error: dict[str, Any]) -> Any:
    lines = ["Traceback (most recent call last)", f"{error['type']}: {error['message']}"]
    return nbformat.v4.new_output("error", ename=error["type"], evalue=error["message"], traceback=lines)


@pytest.fixture
def page_of(tmp_path: Path) -> Callable[..., str]:
    """Makes the page of a run with this record, whose document has these cells below its heading."""

    def write(record: dict[str, Any], *cells: Any) -> str:
        heading = nbformat.v4.new_markdown_cell("# Mine\n\nDoes what I want.")
        nbformat.write(nbformat.v4.new_notebook(cells=[heading, *cells]), document := tmp_path / "out.ipynb")
        (tmp_path / "out.json").write_text(json.dumps(record))
        page = write_page(document, tmp_path / "out.json")
        assert page is not None
        return page.read_text()

    return write


def words(page: str) -> str:
    """The text of a page."""
    body = re.sub(r"<style>.*?</style>", "", page[page.index("<body>") :], flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def test_a_page_begins_with_its_verdict(page_of: Callable[..., str]) -> None:
    """I scrolled through six screens of code to see whether it had worked."""
    text = words(page_of(PLANNED, code("print(1)", printed("the first output"))))
    verdict = text.index("mine: planned; 1 change, nothing was changed")
    assert text.index("Mine") < verdict < text.index("Does what I want") < text.index("the first output")
    assert "run it again with -p apply=true -p changes_id=bbbbbbbb" in text


def test_a_dangerous_plan_is_applied_with_what_allows_it() -> None:
    """I ran it again as it said, and was refused, twice."""
    danger = {"row": 1, "resource": "topic=a", "key": "retention.ms", "danger": "retention", "message": "less"}
    parameters = {"apply": False, "allow": ["acks"], "reason": ""}
    planned = {**PLANNED, "dangers": [danger], "reason": None, "parameters": parameters}
    assert read(planned).next_step() == (
        "To apply it, run it again with -p apply=true -p reason=WHY, "
        """and in place of yours -p 'allow=["acks", "retention.ms topic=a"]'"""
    )
    none = {**planned, "parameters": {**parameters, "allow": [], "save": "p.json"}}
    assert read(none).next_step() == (
        """To apply it, run it again with -p apply=true -p 'allow=["retention.ms topic=a"]' -p reason=WHY, """
        "and in place of yours -p save="
    )
    allowed = {**planned, "reason": "less room", "parameters": {**parameters, "allow": ["retention.ms topic=a"]}}
    assert read(allowed).next_step() == "To apply it, run it again with -p apply=true"


def test_an_expired_plan_is_not_said_to_be_applicable() -> None:
    """The page of an expired plan said how to apply it."""
    assert read({**PLANNED, "expires": "2026-11-21T10:00:00.000000+00:00"}).next_step() == (
        "It expired 2026-11-21 10:00:00Z: plan again, unless it was started before that"
    )


def test_code_is_folded(page_of: Callable[..., str]) -> None:
    """My manager saw Python."""
    page = page_of(PLANNED, code("x = secret_sauce()", printed("1")))
    assert "secret_sauce" in page
    folded = re.compile(r'<details class="code">.*?</details>', re.S)
    assert "secret_sauce" not in folded.sub("", page)


def test_instructions_and_steps_that_were_not_taken_are_left_out(page_of: Callable[..., str]) -> None:
    """The report explained how to run it in Jupyter, and had a heading without anything below."""
    gate = nbformat.v4.new_markdown_cell("## Gate\n\nEnds the run here.")
    how = nbformat.v4.new_markdown_cell("Edit the next cell.", metadata={"tags": ["remove-cell"]})
    text = words(page_of(PLANNED, how, code("apply = False", tags=("parameters",)), gate, code("record.outcomes")))
    assert not [left for left in ("Edit the next cell", "Gate", "apply = False") if left in text]


def test_a_refusal_is_one_paragraph(page_of: Callable[..., str]) -> None:
    """It was a red page of a stack trace, because I had asked for two changes and allowed one."""
    later = nbformat.v4.new_markdown_cell("## Record")
    mark = nbformat.v4.new_markdown_cell(
        "An Exception was encountered", metadata={"tags": ["papermill-error-cell-tag"]}
    )
    text = words(page_of(REFUSED, mark, code("gate()", ended_by(LIMIT)), later, code("finish()")))
    assert "mine: refused, nothing was changed The plan has 2 changes, the limit is 1. Raise limit." in text
    assert "The run ended here: the plan has 2 changes, the limit is 1" in text
    assert not [word for word in ("Traceback", "PlanRefused", "An Exception", "Record", "finish()") if word in text]


def test_an_error_that_is_not_ours_keeps_its_traceback_folded(page_of: Callable[..., str]) -> None:
    """A bug in our own cell, and the page did not say in which line."""
    page = page_of({**PLANNED, "state": "failed", "error": SLIP}, code("1 / 0", ended_by(SLIP)))
    assert "mine: failed" in words(page)
    assert "ZeroDivisionError: division by zero." in words(page)
    assert "Traceback" in page
    assert "Traceback" not in re.sub(r"<details.*?</details>", "", page, flags=re.S)


@pytest.mark.parametrize("magic", ["%%kquota", "%%kconfig --save p.json", "%%kplan", "%%kadmin"])
def test_a_cell_magic_is_not_coloured_as_python(page_of: Callable[..., str], magic: str) -> None:
    """In `set … user=alice` the word set was blue, and the rest an error."""
    page = page_of(
        PLANNED, code(f"{magic}\nset producer_byte_rate=5MB/s user=alice", printed("staged")), code("import os")
    )
    magic_cell, _ = re.findall(r'<div class="?\s*highlight.*?</div>', page, re.S)
    assert "set producer_byte_rate=5MB/s user=alice" in magic_cell
    assert '<span class="k' in page


def test_a_page_is_dark_in_a_dark_system_and_made_for_paper(page_of: Callable[..., str]) -> None:
    """White at night, and twelve sheets of code when printed."""
    style = page_of(PLANNED).partition("<style>")[2].partition("</style>")[0]
    assert "color-scheme: light dark" in style
    printed_style = style.partition("@media print")[2]
    assert "color-scheme: light;" in printed_style
    assert ".code { display: none; }" in printed_style


def test_names_in_the_verdict_stay_names(page_of: Callable[..., str]) -> None:
    """The reason of a plan ran in my browser."""
    failed = {**REFUSED, "error": {**LIMIT, "message": HOSTILE}}
    for record in (PLANNED, failed, {**PLANNED, "state": "applied", "outcomes": [OUTCOME]}):
        assert "<img" not in page_of(record, code("x", ended_by({**LIMIT, "message": HOSTILE})))


@pytest.mark.parametrize(
    ("record", "lines"),
    [
        (PLANNED, ["mine: planned; 1 change, nothing was changed", "producer_byte_rate", "5 MB/s", "-p apply=true"]),
        ({**PLANNED, "state": "applied", "outcomes": [OUTCOME]}, ["mine: applied; 1 verified", "verified", "5 MB/s"]),
        ({**PLANNED, "state": "finished", "plan": []}, ["mine: finished\n"]),
    ],
    ids=["planned", "applied", "finished"],
)
def test_the_terminal_shows_what_was_planned_or_done(record: dict[str, Any], lines: list[str]) -> None:
    """It printed two hashes and three paths, and I opened the notebook to see what it would change."""
    text = repr(Run(Path("out.ipynb"), Path("out.json"), None, read(record)))
    assert not [line for line in lines if line not in text]
    assert text.endswith("out.ipynb\nout.json")


@pytest.mark.parametrize(
    ("verdicts", "finding"),
    [
        (["ok", "ok"], "2 checks are ok"),
        (["ok", "look", "not looked"], "1 of 2 checks needs a look, 1 skipped"),
        (["not looked"], "finished; 1 skipped"),
    ],
)
def test_a_report_counts_its_checks(verdicts: list[str], finding: str) -> None:
    """I added up the table."""
    rows = [{"check": f"check {n}", "verdict": word, "found": 0, "says": "so"} for n, word in enumerate(verdicts)]
    record = {**PLANNED, "state": "finished", "plan": [], "verdicts": rows}
    assert finding in repr(Run(Path("out.ipynb"), Path("out.json"), None, read(record)))


def test_a_check_shows_its_verdict_beside_its_rows() -> None:
    """Below *Something always comes first* stood: no rows."""
    verdicts = Verdicts()
    brokers = Answer(schemas.table(schemas.SUMMARY, [{"of": "user", "is": HOSTILE}]))
    assert repr(verdicts.look("a", [], look="Mend it.", ok="All is well.")) == "ok: All is well."
    look = verdicts.look("b", brokers, look="Mend it.", ok="All is well.")
    assert repr(look).startswith("look: Mend it.\nof")
    assert "<img" not in look._repr_html_()
    assert repr(verdicts.look("c", ["a callback"], look="They decide.", ok="None.")) == "look: They decide.\na callback"
    assert repr(verdicts.pass_over("d", "usage is not set")) == "not looked: usage is not set"
