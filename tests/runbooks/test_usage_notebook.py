"""The notebook about usage, as somebody runs it who has just cloned this: its own Kafka, real clients, Spark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kadmin_nb as kn
from tests.runbooks.notebook_output import shown_by

pytest.importorskip("papermill")
pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.long]

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "usage_and_quotas.ipynb"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    """All that its cells showed, as text."""
    return shown_by(kn.runbooks.run(NOTEBOOK, {"seconds": 12}, output=tmp_path_factory.mktemp("usage")).document)


@pytest.mark.parametrize(
    "words",
    [
        ": 3 verified",
        "restored",
        "Counts(lines=",
        "reason: reports first",
        "producer_byte_rate: lowered 2, raised 1, unchanged 1",
        "backtest, these limits on this usage",
        "1 of 3 buckets would have been throttled at least, on 1 broker; the longest: user=ANONYMOUS on broker 1",
        "stalls when applied",
        ": 2 verified",
    ],
)
def test_each_station_shows_its_answer(shown: str, words: str) -> None:
    """Half of the cells of the notebook were empty."""
    assert words in shown


def test_the_client_that_wants_too_much_is_the_one_that_was_muted(shown: str) -> None:
    """The table of who is near the limit named somebody else first."""
    table = shown.split("bucket_user bucket_client_id  clients", 1)[1].splitlines()
    throttles = [line.split() for line in table if line[:1] in "012" and line[:1]][:6]
    assert throttles[0][1:3] == ["ANONYMOUS", "reports"]
    assert [float(row[-1]) > 0 for row in throttles[3:6]] == [True, False, False]


def test_the_history_knows_what_moved_and_with_which_plan(shown: str) -> None:
    """The change was there, and nobody could say where it came from."""
    rows = re.findall(r"user=ANONYMOUS.* producer_byte_rate +(\d+) +(\d+)$", shown, re.MULTILINE)
    assert rows == [("600000", "200000"), ("200000", "600000")]
