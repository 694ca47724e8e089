"""Limits of one cluster on another, by the lines of the page: totals stay, and principals have other names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kadmin_nb as kn

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "another-cluster.md"
OLD = "CN=checkout,O=shop"
LIMITS = {"producer_byte_rate": 6e6, "controller_mutation_rate": 10.0, "request_percentage": 50.0}


@pytest.mark.broker
def test_the_lines_of_the_page_keep_totals_and_rename(cluster, kafka, kadmin, tmp_path, monkeypatch):
    """The limits were copied by hand, and somebody forgot to halve one of them."""
    monkeypatch.chdir(tmp_path)
    stage = cluster.new_stage()
    for key, value in LIMITS.items():
        stage.set_quota(key, value, user=OLD)
    stage.set_quota("consumer_byte_rate", 3e6, user=OLD, client_id="app")
    there = stage.plan("the old cluster")
    cluster.apply(there, allow={row["allow"] for row in there.dangers()}).raise_for_errors()
    try:
        line = ["quota", "describe", f"user={OLD}", "--cluster", kafka.bootstrap, "--out", "old.parquet"]
        assert kadmin(*line).code == 0
        [block] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
        names: dict[str, kn.Plan] = {"cluster": cluster}
        exec(block, names)
        assert {(str(change.resource), change.key): float(change.after) for change in names["plan"].changes} == {
            ("user=checkout", "producer_byte_rate"): 3e6,
            ("user=checkout", "controller_mutation_rate"): 10.0,
            ("user=checkout", "request_percentage"): 25.0,
            ("user=checkout client-id=app-v2", "consumer_byte_rate"): 1.5e6,
        }
    finally:
        back = cluster.rollback(there)
        cluster.apply(back, allow={row["allow"] for row in back.dangers()}).raise_for_errors()
