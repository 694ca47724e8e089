"""Habits that the shipped notebooks teach: a plan is read before it is applied, and what is left behind is named."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kadmin_nb.runbooks.catalogue import SKELETON

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
LESSONS = sorted(NOTEBOOKS.glob("*.ipynb"))
ALL = [*LESSONS, *sorted(NOTEBOOKS.glob("runbooks/*.ipynb")), SKELETON]

PLANS = re.compile(r"%k\w+ (plan|rollback)\b|\.(plan|rollback)\(|%kplan from\b")
APPLIES = re.compile(r"%k\w+ apply\b|\.apply\(")
AT_ONCE = re.compile(r"--apply\b")


def cells(path: Path, kind: str) -> list[str]:
    """The sources of the cells of this kind."""
    return ["".join(c["source"]) for c in json.loads(path.read_text())["cells"] if c["cell_type"] == kind]


def plans_and_applies(source: str) -> bool:
    """Whether a cell applies what nobody has read."""
    return bool(AT_ONCE.search(source) or (PLANS.search(source) and APPLIES.search(source)))


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_no_cell_plans_and_applies(path: Path) -> None:
    """I copied a cell from the tour, and it had changed production before I saw what it would do."""
    assert [source for source in cells(path, "code") if plans_and_applies(source)] == []


@pytest.mark.parametrize(
    ("source", "is_both"),
    [
        ("%kquota plan\n%kquota apply", True),
        ("%kquota set producer_byte_rate=1 user=a --apply", True),
        ("cluster.rollback(plan).apply()", True),
        ("plan = stage.plan()\ncluster.apply(plan)", True),
        ("%kquota plan --save p.json", False),
        ("%kplan apply p.json", False),
        ("back.apply()", False),
    ],
)
def test_a_cell_that_does_both_is_recognised(source: str, is_both: bool) -> None:
    """The check passed because it looked for the wrong words."""
    assert plans_and_applies(source) is is_both


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_starts_from_nothing_and_names_what_it_wrote(path: Path) -> None:
    """It needed a Kafka that I did not have; a month later its quotas were still on the one that I gave it."""
    first = cells(path, "code")[0]  # before the first answer came forty words of parameters, folders and conditions
    assert re.fullmatch(r"import kadmin_nb as kn\n\ncluster = kn\.demo\((traffic=False)?\)\ncluster", first)
    last = json.loads(path.read_text())["cells"]
    headings = [n for n, cell in enumerate(last) if "".join(cell["source"]).startswith("## ")]
    ending, *after = ["".join(cell["source"]) for cell in last[headings[-1] :]]
    assert ending.startswith("## What it wrote\n\nOn the cluster: ")
    assert re.search("removed again|rollback", ending)
    assert after
    assert all(source.startswith("%kquota describe ") for source in after)
