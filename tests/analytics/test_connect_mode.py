"""The Spark tests once more, over Spark Connect."""

from __future__ import annotations

import os

import pytest

ONE_A_VERB = " or ".join(
    [
        "test_everything_works_over_connect",
        "test_row_for_row_like_the_plain_form",
        "test_one_file_or_a_tree_plain_or_gzip",
        "test_what_two_real_brokers_wrote",
        "test_a_stream_gives_what_the_whole_log_does",
        "test_it_is_kn_impact",
        "test_it_is_kn_backtest",
        "test_levels_and_values_as_people_read_them",
        "test_window_by_window_like_a_loop_over_resolve",
        "test_a_fleet_is_judged_as_each_snapshot_is",
    ]
)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(
    "connect_child", [ONE_A_VERB, pytest.param("", marks=pytest.mark.long)], ids=["one a verb", "all"], indirect=True
)
def test_everything_works_over_connect(request, connect_child) -> None:
    """It worked in the notebook and failed on Databricks: a session there has no JVM."""
    if os.environ.get("KADMIN_TEST_SPARK") == "connect":
        assert "connect" in type(request.getfixturevalue("spark")).__module__
        return
    code, said = connect_child.ended()
    assert code == 0, said
    assert " passed" in said
