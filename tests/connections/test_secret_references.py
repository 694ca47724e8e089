"""Secrets by reference: found where it says, and named, never quoted, where it does not."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from kadmin_nb.errors import Invalid, KadminError, NotFound, Unsupported, UsageError
from kadmin_nb.profiles import require_references, settings_for
from kadmin_nb.profiles.secret_references import read_reference
from kadmin_nb.secrets import Secret, is_reference


def test_env(monkeypatch, here):
    monkeypatch.setenv("KAFKA_PASSWORD", "se cret\n")
    assert read_reference("env:KAFKA_PASSWORD", here) == Secret("se cret\n")


@pytest.mark.parametrize("content", [b"secret", b"secret\n", b"secret\r\n"])
def test_file_is_relative_to_the_profiles_and_loses_one_line_end(here, content):
    """echo secret > password, and now a wrong password."""
    (here / "password").write_bytes(content)
    assert read_reference("file:password", here) == Secret("secret")
    assert read_reference("file:~/work/password", here / "elsewhere") == Secret("secret")


def test_keyring(monkeypatch, here):
    store = {("kadmin-nb", "prod"): "secret"}
    monkeypatch.setitem(sys.modules, "keyring", SimpleNamespace(get_password=lambda *name: store.get(name)))
    assert read_reference("keyring:prod", here) == Secret("secret")
    with pytest.raises(NotFound, match=r"keyring:prd: the keyring has no such entry") as caught:
        read_reference("keyring:prd", here)
    assert caught.value.hint == "keyring set kadmin-nb prd stores it."


@pytest.fixture
def dbutils(monkeypatch):
    """A stand-in for Databricks' secrets, with one in it."""
    found = {("kafka", "team/pw"): "secret"}
    secrets = SimpleNamespace(get=lambda scope, key: found[scope, key])
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "16.4")
    return SimpleNamespace(secrets=secrets)


def test_databricks_in_a_notebook(dbutils, monkeypatch, here):
    monkeypatch.setattr(sys.modules["__main__"], "dbutils", dbutils, raising=False)
    assert read_reference("databricks:kafka/team/pw", here) == Secret("secret")
    with pytest.raises(NotFound, match="databricks:kafka/other: the store answers with KeyError"):
        read_reference("databricks:kafka/other", here)


def test_databricks_through_the_sdk(dbutils, monkeypatch, here):
    monkeypatch.setitem(sys.modules, "databricks.sdk.runtime", SimpleNamespace(dbutils=dbutils))
    assert read_reference("databricks:kafka/team/pw", here) == Secret("secret")


@pytest.mark.parametrize(
    ("reference", "error", "says"),
    [
        ("env:NOT_THERE", NotFound, "env:NOT_THERE: the environment variable is not set"),
        ("env:EMPTY", UsageError, "env:EMPTY is empty"),
        ("file:gone", NotFound, "the secret of file:gone, does not exist"),
        ("file:.", UsageError, "is not a file"),
        ("file:/dev/zero", UsageError, "is not a file"),
        ("file:binary", Invalid, "it is not UTF-8, so it cannot be the secret of file:binary"),
        ("file:utf-16", Invalid, "it is not UTF-8, so it cannot be the secret of file:utf-16"),
        ("file:huge", UsageError, "is larger than 65,536 bytes"),
        ("keyring:prod", Unsupported, "keyring:prod: keyring is not installed"),
        ("databricks:scope/key", Unsupported, "databricks:scope/key: this is not Databricks"),
        ("databricks:scope", UsageError, "is not databricks:SCOPE/KEY"),
    ],
)
def test_a_reference_that_leads_nowhere_is_named(reference, error, says, here, monkeypatch):
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.setitem(sys.modules, "keyring", None)
    (here / "binary").write_bytes(b"\xfa\xfb")
    (here / "utf-16").write_text("xyz", encoding="utf-16")
    (here / "huge").write_bytes(b"x" * 100_000)
    with pytest.raises(error) as caught:
        read_reference(reference, here)
    assert says in str(caught.value)


def test_a_keyring_that_breaks_is_named_by_its_error_only(monkeypatch, here):
    """Its text may hold anything."""

    def broken(*_name):
        raise RuntimeError("CANARY")

    monkeypatch.setitem(sys.modules, "keyring", SimpleNamespace(get_password=broken))
    with pytest.raises(NotFound, match=r"the store answers with RuntimeError$"):
        read_reference("keyring:prod", here)


@pytest.mark.parametrize("text", ["secret", "vault:x", "env:", "ENV:X", "", " env:X", "env:X\nenv:Y"])
def test_what_is_not_a_reference(text):
    assert not is_reference(text)


def test_a_command_line_holds_references_only(jaas):
    """ps shows my password."""
    require_references({"sasl.jaas.config": "env:JAAS", "client.id": "x"}, "--property")
    with pytest.raises(UsageError, match=r"--property: sasl\.jaas\.config is a literal secret") as caught:
        require_references({"sasl.jaas.config": jaas()}, "--property")
    assert "env:NAME, file:PATH, properties:FILE#KEY, keyring:NAME or databricks:SCOPE/KEY" in (caught.value.hint or "")


def test_a_reference_in_the_properties_is_resolved_or_named():
    with pytest.raises(KadminError, match="env:NOT_THERE"):
        settings_for("a:1", {"sasl.jaas.config": "env:NOT_THERE"})
