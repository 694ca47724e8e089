"""The notebook about dynamic clients: a producer and a consumer, changed while they run, by the broker's log."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kadmin_nb as kn
from tests.runbooks.notebook_output import shown_by

pytest.importorskip("papermill")
pytestmark = [pytest.mark.broker, pytest.mark.long]

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "dynamic_clients.ipynb"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    """All that its cells showed, as text."""
    return shown_by(kn.runbooks.run(NOTEBOOK, {"seconds": 4}, output=tmp_path_factory.mktemp("dynamic")).document)


@pytest.mark.parametrize(
    "words",
    [
        "4 of 4 topics and rights of dynamic client configs are in order.",
        "2 known clients",
        "1 of 1 known client would follow a new acks",
        "to apply it anyway: --allow 'acks user=",
        ": 3 verified",
        "Values of clients: 3 follows",
        "user=shop client-id=checkout: acks was -1 and is 1",
        "undoes row 1",
        "read in the same order, each once: True",
        "no quotas",
    ],
)
def test_each_station_shows_its_answer(shown: str, words: str) -> None:
    """Half of the cells of the notebook were empty."""
    assert words in shown


def test_the_broker_saw_the_change(shown: str) -> None:
    """The client said that it follows; what it sent was as before."""
    before, after = re.findall(r"Counter\((\{[^}]*\})\)", shown)
    assert "acks=-1" in before
    assert "acks=1'" not in before
    assert "acks=1'" in after
    assert "acks=-1" not in after
    heartbeats = [int(re.search(r"'billing heartbeats': (\d+)", counts)[1]) for counts in (before, after)]
    assert heartbeats[1] > 2 * heartbeats[0]
