"""The evaluations of docs/SKILL.md: each line is typed on a seeded cluster, and shows what a right answer needs."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import kadmin_nb as kn
from kadmin_nb.commands import terminal
from kadmin_nb.local import LocalKafka

pytestmark = pytest.mark.broker

DOCS = Path(__file__).parents[2] / "docs"


class Evaluation(NamedTuple):
    """A question, the lines that answer it, and what a right answer contains."""

    question: str
    lines: list[str]
    right: list[str]


EVALUATIONS = [
    Evaluation(question, lines.splitlines(), re.findall(r"`([^`]+)`", right))
    for question, lines, right in re.findall(
        r"^### (.+)\n\n```\n([^`]+)\n```\n\nRight: (.+)$", (DOCS / "SKILL.md").read_text(), re.MULTILINE
    )
]


@pytest.fixture(scope="module")
def seeded() -> Iterator[LocalKafka]:
    """A Kafka of this file's own, as `kadmin-nb local seed` leaves one."""
    with kn.local.start() as running, running.connect() as cluster:
        kn.local.seed(cluster)
        yield running


def test_there_are_twelve():
    """*A question of the page was not tried, for its heading had a slip.*"""
    assert len(EVALUATIONS) == (DOCS / "SKILL.md").read_text().count("\n### ") == 12


@pytest.mark.parametrize("evaluation", EVALUATIONS, ids=[one.question for one in EVALUATIONS])
def test_the_lines_of_an_evaluation_show_what_a_right_answer_contains(
    evaluation, seeded, tmp_path, monkeypatch, capsys
):
    """*The page called an answer right that the program no longer gives.*"""
    monkeypatch.chdir(tmp_path)
    for name in ("used.csv", "clients.csv"):
        shutil.copy(DOCS / "examples" / name, tmp_path)
    with seeded.connect() as cluster:
        before = cluster.quotas.describe().to_arrow()
    shown = ""
    for line in evaluation.lines:
        assert terminal.run_line([*shlex.split(line)[1:], "--cluster", seeded.bootstrap]) in (0, 1)
        shown += "".join(capsys.readouterr())
    assert [words for words in evaluation.right if words not in shown] == [], shown
    with seeded.connect() as cluster:
        assert cluster.quotas.describe().to_arrow().equals(before)
