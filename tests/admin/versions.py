"""The Kafkas that the conformance suite runs on: every version that we promise to speak to, and the double."""

from __future__ import annotations

import pytest

ABILITIES = {
    "4.3.1": {
        "has_group_configs": True,
        "lists_every_resource": True,
        "metrics_defaults": True,
        "default_min_isr": True,
    },
    "3.9.2": {
        "has_group_configs": False,
        "lists_every_resource": False,
        "metrics_defaults": False,
        "default_min_isr": False,
    },
}

REAL = [pytest.param(version, marks=pytest.mark.broker) for version in ABILITIES]
EVERY = [*REAL, "double"]
