"""quota_audit where USAGE is a table of Spark's, as on Databricks."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.local import LocalKafka

pytestmark = [pytest.mark.spark, pytest.mark.broker]

POLICY = '''def nobody_without_a_limit(effective):
    """one client can fill a broker"""
    return effective[(effective.key == "producer_byte_rate") & effective.value.isna()]


def no_default_of_everybody(quotas):
    """it is a typing error"""
    return quotas[(quotas.key == "producer_byte_rate") & (quotas.value > 100e9)]
'''
START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def table(spark: Any, cluster: kn.Cluster, unique: Callable[[str], str]) -> Any:
    """A table with what a user of 1 MB/s and one without a limit produced in ten seconds; and the two."""
    stage, (limited, free) = cluster.new_stage(), (unique("user"), unique("user"))
    stage.set_quota("producer_byte_rate", 1e6, user=limited)
    cluster.apply(stage.plan()).raise_for_errors()
    window = {"window_start": START, "window_end": START + timedelta(seconds=10), "source": "test", "broker": 1}
    used = {"client_id": "app", "key": "producer_byte_rate", "value": 3e6, **window}
    usage = kn.Answer(schemas.table(schemas.USAGE, [{"user": user, **used} for user in (limited, free)]))
    name = f"default.{unique('usage').replace('-', '_')}"
    usage.to_spark(spark).write.saveAsTable(name)
    yield name, limited, free
    spark.sql(f"DROP TABLE {name}")


def cells_of(runbook: str, **given: object) -> dict[str, Any]:
    """Run the cells of a shipped runbook in this process, with these parameters behind the first."""
    document = json.loads(kn.runbooks.find(runbook).path.read_text())
    sources = ["".join(cell["source"]) for cell in document["cells"] if cell["cell_type"] == "code"]
    sources.insert(1, "\n".join(f"{name} = {value!r}" for name, value in given.items()))
    space: dict[str, Any] = {"In": [""]}
    for source in sources:
        space["In"].append(source)
        exec(source, space)
    return space


@pytest.mark.long
def test_a_table_of_usage_is_audited_where_it_is(
    kafka: LocalKafka, table: tuple[str, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The usage is in the lake, and the audit wanted a file."""
    monkeypatch.chdir(tmp_path)
    name, limited, free = table
    (tmp_path / "rules.py").write_text(POLICY)
    space = cells_of("quota_audit", cluster=kafka.bootstrap, usage=name, policy="rules.py")
    assert [row["bucket_user"] for row in space["throttled"].found.to_arrow().to_pylist()] == [limited]
    assert {(row["user"], row["key"]) for row in space["free"].found.to_arrow().to_pylist()} >= {
        (free, "producer_byte_rate")
    }
    breaches = [row for row in space["broken"].found.to_arrow().to_pylist() if row["rule"] == "nobody_without_a_limit"]
    assert free in {row["resource"] for row in breaches} or any(free in row["message"] for row in breaches)
    assert not any(limited in row["message"] for row in breaches)
    assert [row["bucket_user"] or row["user"] for row in space["used"].to_arrow().to_pylist()] == [limited, free]
    with pytest.raises(kn.KadminError) as refused:
        cells_of("quota_audit", cluster=kafka.bootstrap, usage="default.none_such")
    assert "none_such" in str(refused.value)
    assert "\n" not in str(refused.value)
