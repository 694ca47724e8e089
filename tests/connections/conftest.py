"""A clean machine: no profiles, no variables of ours, an empty working directory; files written in one line."""

from __future__ import annotations

import pytest

from kadmin_nb.paths import cache_dir

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """The working directory, below `home`; nothing of the real user's is found, but the downloads."""
    for name in ("KADMIN_CONFIG", "KADMIN_PROFILE", "XDG_CONFIG_HOME", "DATABRICKS_RUNTIME_VERSION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KADMIN_CACHE", str(cache_dir()))  # a Kafka would be downloaded into an empty home
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "home" / "work"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def client(here):
    """Writes `client.properties` and gives its path."""

    def write(content: str | bytes, name: str = "client.properties") -> str:
        path = here / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


@pytest.fixture
def profiles(here):
    """Writes `kadmin-nb.toml`."""

    def write(content: str, folder=here) -> str:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "kadmin-nb.toml"
        path.write_text(content)
        return str(path)

    return write


@pytest.fixture
def jaas():
    """A JAAS text for a user and a password as they are."""

    def text(user: str = "alice", password: str = "secret", module: str = SCRAM) -> str:
        return f'{module} required username="{user}" password="{password}";'

    return text
