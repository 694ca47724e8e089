"""Limits of one cluster on another, by the lines of the page: totals stay, and principals have other names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import kadmin_nb as kn

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "another-cluster.md"
USED = PAGE.parents[1] / "examples" / "used.csv"
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


@pytest.mark.broker
def test_a_reading_verb_takes_a_group(kadmin, kafka, tmp_path, monkeypatch, unique):
    """Which of our three clusters has that quota was asked three times."""
    toml = tmp_path / "kadmin-nb.toml"
    where = {"a": kafka.bootstrap, "b": "127.0.0.1:1"}
    tables = "".join(
        f'[profiles.{name}]\nbootstrap = "{brokers}"\ndefault.api.timeout.ms = 2000\n'
        for name, brokers in where.items()
    )
    toml.write_text(f'{tables}[groups.eu]\nmembers = ["a", "b"]\n')
    monkeypatch.setenv("KADMIN_CONFIG", str(toml))
    user = unique("grouped")
    assert kadmin("quota", "set", "producer_byte_rate=5MB/s", f"user={user}", "--apply", "-c", "a").code == 0
    asked = kadmin("quota", "describe", f"user={user}", "-c", "@eu", "--json")
    one, other = json.loads(asked.out)
    assert (one["cluster"], one["entity"], one["value"], one["error"]) == ("a", f"user={user}", 5e6, None)
    assert (other["cluster"], other["cluster_id"], other["entity"]) == ("b", None, None)
    assert "127.0.0.1:1" in other["message"]
    shown = kadmin("quota", "describe", f"user={user}", "-c", "@eu")
    assert (shown.code, "5 MB/s" in shown.out, "b: 127.0.0.1:1" in shown.out) == (1, True, True), shown.text
    near = kadmin("quota", "near", str(USED), "-c", "@eu")
    assert "Judged by the limits of now" in near.out, near.text
    assert "Read from 1 of 1 brokers" in near.out
    for words in (("quota", "set", "producer_byte_rate=1", f"user={user}"), ("quota", "audit", "--stage")):
        refused = kadmin(*words, "-c", "@eu")
        assert (refused.code, "takes no group" in refused.err, "--each" in refused.err) == (2, True, True)
    unknown = kadmin("quota", "describe", "-c", "@us")
    assert (unknown.code, "no such group: us" in unknown.err) == (1, True)
