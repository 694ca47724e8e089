"""The Kafkas that the conformance suite runs on: every version that we promise to speak to, and the double."""

from __future__ import annotations

import pytest

ABILITIES = {
    version: dict(
        zip(("has_group_configs", "lists_every_resource", "metrics_defaults", "default_min_isr"), flags, strict=True)
    )
    for version, flags in {
        "4.4.0": (True, True, True, True),
        "4.3.1": (True, True, True, True),
        "4.2.0": (True, True, True, True),
        "4.1.1": (True, True, True, True),
        "4.0.1": (True, False, False, False),
        "3.9.2": (False, False, False, False),
    }.items()
}

EVERY_DAY = ("4.4.0", "3.9.2")
"""The newest and the oldest are in every run of the tests; `make test-versions` has all."""


_MARKS = {True: [pytest.mark.broker], False: [pytest.mark.broker, pytest.mark.versions]}
EVERY = [*(pytest.param(version, marks=_MARKS[version in EVERY_DAY]) for version in ABILITIES), "double"]
