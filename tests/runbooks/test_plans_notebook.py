"""The notebook about plans, as somebody runs it who has just cloned this: with its own Kafka."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kadmin_nb as kn
from tests.runbooks.notebook_output import shown_by

pytest.importorskip("papermill")
pytestmark = [pytest.mark.broker, pytest.mark.long]

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "plans.ipynb"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    """All that its cells showed, as text."""
    return shown_by(kn.runbooks.run(NOTEBOOK, output=tmp_path_factory.mktemp("plans")).document)


@pytest.mark.parametrize(
    "words",
    [
        "reason: room for the fair",
        "| 1 | set | `user=team-orders client-id=notebook` |",
        "--add-config producer_byte_rate=8000000,consumer_byte_rate=8000000",
        ": 2 verified",
        ": nothing to change, 2 unchanged",
        "rows 1-2 verified",
        "1 row has neither the plan's value nor the one from before",
        "undoes row 2",
    ],
)
def test_each_station_shows_its_answer(shown: str, words: str) -> None:
    """Half of the cells of the notebook were empty."""
    assert words in shown


def test_the_foretold_stall_is_of_the_limit_that_binds(shown: str) -> None:
    """The example was about a limit that another one hid."""
    assert re.search(r"user=ANONYMOUS client-id=busy +producer_byte_rate +\d+ s ", shown)
    assert "Empty DataFrame" not in shown
