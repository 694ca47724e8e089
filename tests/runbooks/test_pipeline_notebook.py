"""The notebook of the pipeline, as somebody runs it who has just cloned this: a stream, tables, SQL, a picture."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kadmin_nb as kn
from tests.runbooks.notebook_output import shown_by

pytest.importorskip("papermill")
pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.long]

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "pipeline.ipynb"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    """All that its cells showed, as text."""
    return shown_by(kn.runbooks.run(NOTEBOOK, {"seconds": 20}, output=tmp_path_factory.mktemp("pipeline")).document)


def test_each_second_is_judged_by_the_limit_that_was_in_force(shown: str) -> None:
    """A limit was raised at noon, and the morning's throttling was gone from the report."""
    rows = re.findall(r"^\d +reports +(\d+ [kM]B/s) +(\d+) +[\d.]+ +(\d+) +(\d+)$", shown, re.M)
    limits = {limit: (int(seconds), int(above), int(throttled)) for limit, seconds, above, throttled in rows}
    assert set(limits) == {"400 kB/s", "1 MB/s"}
    seconds, above, throttled = limits["400 kB/s"]
    assert seconds >= 5
    assert above >= 1
    assert throttled >= 3
    assert limits["1 MB/s"][2] <= throttled / 2


def test_the_history_has_both_limits_and_who_set_them(shown: str) -> None:
    """The dashboard said that a limit had changed, and neither from what nor by whom."""
    assert re.search(r"user=ANONYMOUS client-id=reports +producer_byte_rate +400000 +1000000", shown)
    assert len(re.findall(r"4 staged changes|1 staged change", shown)) >= 2


def test_all_tables_are_there(shown: str) -> None:
    """Half of the cells of a notebook were empty."""
    tables = "client_configs_history configs_history quotas_history snapshots usage utilisation_daily"
    assert all(re.search(rf"kafka +{table} ", shown) for table in tables.split())
