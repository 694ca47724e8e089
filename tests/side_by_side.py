"""Which tests stay together in one process where several run side by side (`-n 3`), and which groups begin first.

pytest-xdist's own `--dist loadgroup` groups nothing under pytest 9.2 (pytest-xdist#1386); this needs no marks either.
"""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

GROUPS = {
    "tests/analytics/test_connect_mode.py": "connect",
    "tests/analytics/test_own_cluster.py": "own cluster",
    "tests/analytics/": "spark",
    "tests/databricks/test_request_logs_notebook.py::test_a_job_that_was_killed": "delta",
    "tests/databricks/test_request_logs_notebook.py::test_what_tables_cannot_take": "delta",
    "tests/databricks/test_request_logs_notebook.py": "spark",
    "tests/databricks/test_sql_folder.py": "spark",
    "tests/charts/test_spark_charts.py": "spark",
    "tests/frames/test_forms.py": "spark",
    "tests/notebook/test_spark_magics.py": "spark",
    "tests/notebook/test_magics.py::test_spark_frames": "spark",
    "tests/terminal/test_usage_words.py": "spark",
    "tests/runbooks/test_rightsizing.py": "spark",
    "tests/runbooks/test_upgrade_check.py": "spark",
    "tests/admin/": "admin",
    "tests/architecture/": "architecture",
    "tests/local/": "local",
    "tests/comparing/": "comparing",
    "tests/browser/": "browser",
}
"""By the beginning of a test's id. A Spark session, a browser, and Kafkas of other versions and settings are shared."""

FIRST = (
    "spark",
    "connect",
    "delta",
    "browser",
    "admin",
    "local",
    "tests/plans/test_simulated_faults.py",
    "tests/plans/test_crashes.py",
    "tests/runbooks/test_change_quotas.py",
    "tests/runbooks/test_usage_notebook.py",
    "tests/history/test_both_places.py",
    "tests/faults/test_proxied_plans.py",
    "tests/plans/test_gradual_lowering.py",
    "tests/plans/test_three_nodes.py",
    "tests/terminal/test_windows.py",
)
"""What takes longest, a minute and more: the short ones fill up what is left at the end."""


class Groups(LoadScopeScheduling):
    """Hands out whole groups, in the order of the collection."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(nodeid: str) -> str:
    """The group of a test: one of GROUPS, or its file."""
    file = nodeid.partition("::")[0]
    return next((group for start, group in GROUPS.items() if nodeid.startswith(start)), file)


def rank_of(nodeid: str) -> int:
    """The place of its group among the groups that begin first."""
    group = group_of(nodeid)
    return FIRST.index(group) if group in FIRST else len(FIRST)
