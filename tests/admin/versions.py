"""The Kafkas that the conformance suite runs on: every version that we promise to speak to, and the double."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from _pytest.mark import ParameterSet

ABILITIES = {
    version: dict(
        zip(("has_group_configs", "lists_every_resource", "metrics_defaults", "default_min_isr"), flags, strict=True)
    )
    for version, flags in {
        "4.3.1": (True, True, True, True),
        "4.2.0": (True, True, True, True),
        "4.1.1": (True, True, True, True),
        "4.0.1": (True, False, False, False),
        "3.9.2": (False, False, False, False),
    }.items()
}

EVERY_DAY = ("4.3.1", "4.2.0", "3.9.2")
"""The versions of every run of the tests; `make test-versions` has all."""


def _params(every_day: Collection[str]) -> list[ParameterSet]:
    marks = {True: [pytest.mark.broker], False: [pytest.mark.broker, pytest.mark.versions]}
    return [pytest.param(version, marks=marks[version in every_day]) for version in ABILITIES]


EVERY = [*_params(EVERY_DAY), "double"]
AT_SIZE = _params(("4.3.1", "3.9.2"))
"""For tests of hundreds of topics: on every day only the newest and the oldest."""
