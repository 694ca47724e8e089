"""docs/sql.md: each of its lines, in their order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.analytics.conftest import CONNECT

pytestmark = [pytest.mark.spark, pytest.mark.broker]

PAGE = Path(__file__).parents[2] / "docs/sql.md"
RECORDED = Path(__file__).parent / "recorded"
BLOCKS = re.findall(r"```(python|sql)\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.mark.skipif(CONNECT, reason="the workers of this session have no kadmin_nb")
def test_every_line_of_the_page_runs(spark, kafka, cluster):
    """The page had an option that nothing took."""
    stage = cluster.new_stage()
    stage.set_quota("producer_byte_rate", "1MB", user="alice")
    cluster.apply(stage.plan()).raise_for_errors()
    space = {"spark": spark}
    for language, text in BLOCKS:
        text = text.replace("prod; staging", kafka.bootstrap).replace("prod", kafka.bootstrap)
        text = text.replace("/logs", str(RECORDED / "*"))
        if language == "python":
            exec(text, space)
        else:
            space["answers"] = [spark.sql(line).collect() for line in text.split(";") if line.strip()]
    assert [(row.entity, row[2]) for row in space["answers"][-1]] == [("user=alice", "1 MB/s")]
    assert {row.resource_type for row in space["one"].collect()} == {"BROKER"}
    assert space["two"].count() > space["one"].count()
    assert space["rows"].where("fault is null").count() > 0
