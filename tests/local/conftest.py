"""Local clusters of these tests: their own state folder, Kafka and its archive from the real cache."""

from __future__ import annotations

import pytest

from kadmin_nb import local
from kadmin_nb.paths import cache_dir, state_dir


@pytest.fixture
def state(tmp_path, monkeypatch):
    """A state folder with a space in its path; what a test leaves running is ended."""
    folder = tmp_path / "a state"
    monkeypatch.setenv("KADMIN_STATE", str(folder))
    yield folder
    assert state_dir() == folder, "a test undid the folder: what would be stopped here is somebody else's"
    for found in local.status():
        local.stop(found.name)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache."""
    folder = tmp_path / "a cache"
    monkeypatch.setenv("KADMIN_CACHE", str(folder))
    return folder


@pytest.fixture(scope="session")
def jars():
    """The jars of the default version, from the real cache."""
    return local.find_jars()


@pytest.fixture(scope="session")
def real_cache():
    return cache_dir()
