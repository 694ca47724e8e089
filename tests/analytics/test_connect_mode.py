"""The Spark tests once more, over Spark Connect."""

from __future__ import annotations

import os

import pytest


@pytest.mark.spark
@pytest.mark.slow
def test_everything_works_over_connect(request) -> None:
    """It worked in the notebook and failed on Databricks: a session there has no JVM."""
    if os.environ.get("KADMIN_TEST_SPARK") == "connect":
        assert "connect" in type(request.getfixturevalue("spark")).__module__
        return
    code, said = request.getfixturevalue("connect_child").ended()
    assert code == 0, said
    assert " passed" in said
