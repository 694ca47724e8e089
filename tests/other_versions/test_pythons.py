"""Newer Pythons than the one that the suite runs on: the locked packages install there, and the tests pass."""

from __future__ import annotations

import pytest

from tests.environments import locked, run_tests
from tests.other_versions import NEEDS_NOTHING

pytestmark = pytest.mark.long

ON_A_BROKER = (
    "tests/admin/test_conformance_quotas.py", "tests/admin/test_conformance_configs.py",
    "tests/plans/test_print_formats.py",
    "-m", "broker and not versions and not long",
)  # fmt: skip
ON_SPARK = (
    "tests/analytics/test_fleet_resolve.py",
    "tests/analytics/test_sql_functions.py",
    "-m",
    "spark and not long",
)


@pytest.mark.parametrize("tests", [NEEDS_NOTHING, ON_A_BROKER, ON_SPARK], ids=["every", "broker", "spark"])
@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_a_newer_python(version, tests, request):
    """The classifiers named 3.12 and 3.13, and no run had seen either."""
    run_tests(locked(version), [*tests, "-n", "2", "--dist", "loadscope"], request.config.option.tried)
