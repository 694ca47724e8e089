"""Databricks as far as a machine of our own can be it: its environment, and stand-ins for what it hands out."""

from __future__ import annotations

import pytest


@pytest.fixture
def on_databricks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment says that this is a cluster of Databricks."""
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "17.3")
