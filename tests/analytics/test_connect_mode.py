"""The Spark tests once more, over Spark Connect."""

from __future__ import annotations

import os

import pytest

A_RULE_AND_A_LOG = (
    "test_everything_works_over_connect or test_row_for_row_like_the_plain_form or test_what_two_real_brokers_wrote"
)
"""What runs on workers over quotas and pairs, and over lines: the ways in which code travels there."""


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(
    "connect_child", [A_RULE_AND_A_LOG, pytest.param("", marks=pytest.mark.long)], ids=["two", "all"], indirect=True
)
def test_everything_works_over_connect(request, connect_child) -> None:
    """It worked in the notebook and failed on Databricks: a session there has no JVM."""
    if os.environ.get("KADMIN_TEST_SPARK") == "connect":
        assert "connect" in type(request.getfixturevalue("spark")).__module__
        return
    code, said = connect_child.ended()
    assert code == 0, said
    assert " passed" in said
