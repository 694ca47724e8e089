"""The tour, as somebody runs it who has just cloned this: no parameters, its own Kafka, Spark at the end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kadmin_nb as kn
from tests.runbooks.notebook_output import shown_by

pytest.importorskip("papermill")
pytest.importorskip("pyspark")
pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.long]

TOUR = Path(__file__).resolve().parents[2] / "notebooks" / "tour.ipynb"

JAVAS_OWN = "WARNING: Using incubator modules: jdk.incubator.vector"
"""Spark asks for that module on Java's command line; no setting of ours keeps Java from saying so."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> kn.runbooks.Run:
    """The executed tour. A kernel that believes itself tested shows nothing of what Java writes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTEST_CURRENT_TEST", raising=False)
        return kn.runbooks.run(TOUR, output=tmp_path_factory.mktemp("tour"))


@pytest.fixture(scope="module")
def shown(run: kn.runbooks.Run) -> str:
    """All that its cells showed, as text."""
    return shown_by(run.document)


@pytest.mark.parametrize(
    "words",
    ["user=team-orders client-id=checkout", "CLIENT_OF_USER", "a tour", "2 verified", "retention.ms", "|level"],
)
def test_each_station_shows_its_answer(shown: str, words: str) -> None:
    """Half of the cells of the tour were empty."""
    assert words in shown


def test_nothing_but_answers_is_shown(run: kn.runbooks.Run) -> None:
    """Spark and Kafka filled the page with warnings."""
    cells = json.loads(run.document.read_text())["cells"]
    lines = [line for c in cells for o in c.get("outputs", []) if o.get("name") == "stderr" for line in o["text"]]
    assert {line.strip() for line in lines} <= {"", JAVAS_OWN}
