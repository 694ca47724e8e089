"""What a target means: a file, a profile, host:port, in that order; and what is said when it is none of them."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest

import kadmin_nb as kn
from kadmin_nb.errors import KadminError, NotFound, UsageError
from kadmin_nb.model.connection_settings import Settings
from kadmin_nb.profiles import profile_names, settings_for
from kadmin_nb.secrets import Secret

TWO = '[profiles.dev]\nbootstrap = "dev:9092"\n[profiles.prod]\nbootstrap = "prod:9092"\n'


@pytest.mark.parametrize(
    ("target", "bootstrap"),
    [
        ("localhost:9092", "localhost:9092"),
        ("a:1, b:2,", "a:1,b:2"),
        ("[::1]:9092", "[::1]:9092"),
        ("[fe80::1%eth0]:9092", "[fe80::1%eth0]:9092"),
        ("10.0.0.1:65535", "10.0.0.1:65535"),
        (",".join(f"broker-{n}.example.com:9092" for n in range(30)), None),
    ],
)
def test_host_and_port_is_enough(target, bootstrap):
    """Just let me at localhost:9092."""
    assert settings_for(target) == Settings(bootstrap or target)


def test_a_file_goes_before_a_profile_and_a_profile_before_a_host(client, profiles):
    """I have a file and a profile of one name."""
    profiles(TWO)
    assert settings_for("dev").bootstrap == "dev:9092"
    client("bootstrap.servers=file:9092\n", name="dev")
    assert settings_for("dev").bootstrap == "file:9092"


def test_a_broken_profiles_file_does_not_stop_host_and_port(profiles):
    """Somebody's broken kadmin-nb.toml three folders up is not my problem."""
    profiles("[[[")
    assert settings_for("localhost:9092").bootstrap == "localhost:9092"


def test_a_path_may_be_a_path_object_or_start_at_home(client):
    """My notebook's shell does not expand ~ for me."""
    path = client("bootstrap.servers=a:1\n")
    assert settings_for(Path(path)) == settings_for("~/work/client.properties")


def test_no_target_takes_the_only_profile(profiles):
    """I have one cluster; do not make me name it."""
    profiles('[profiles.only]\nbootstrap = "only:9092"\n')
    assert settings_for().bootstrap == "only:9092"


def test_no_target_takes_the_profile_in_the_environment(profiles, monkeypatch):
    """The job sets KADMIN_PROFILE."""
    profiles(TWO)
    monkeypatch.setenv("KADMIN_PROFILE", "prod")
    assert settings_for().bootstrap == "prod:9092"
    monkeypatch.setenv("KADMIN_PROFILE", "prd")
    with pytest.raises(NotFound, match="prd is not a file, not a profile") as caught:
        settings_for()
    assert caught.value.hint == "Did you mean prod?"


def test_no_target_and_several_profiles_lists_them(profiles):
    """Which ones are there?"""
    path = profiles(TWO)
    with pytest.raises(UsageError, match=r"KADMIN_PROFILE is not set: .* has dev, prod$") as caught:
        settings_for()
    assert path in str(caught.value)
    assert profile_names() == ("dev", "prod")


def test_no_target_and_no_profiles_at_all():
    """A fresh machine."""
    with pytest.raises(UsageError, match=r"no kadmin-nb\.toml was found"):
        settings_for()
    assert profile_names() == ()


@pytest.mark.parametrize(
    ("target", "kind", "says", "hint"),
    [
        ("prdo", NotFound, "prdo is not a file, not a profile", "Did you mean prod?"),
        ("localhost", NotFound, "not host:port", "localhost:9092"),
        ("", NotFound, '"" is not a file', "host:port"),
        ("missing.properties", NotFound, "missing.properties is not a file", None),
        ("no/such/file", NotFound, "no/such/file is not a file", None),
        (os.sep, UsageError, "is not a file", None),
        ("localhost:kafka", NotFound, "not host:port", "localhost:9092"),
        ("localhost:0", NotFound, "not host:port", "localhost:9092"),
        ("localhost:99999", NotFound, "not host:port", "localhost:9092"),
        ("::1:9092", NotFound, "not host:port", "localhost:9092"),
        ("a:1,b", NotFound, "not host:port", "localhost:9092"),
        ("host\0name:1", NotFound, "not host:port", "localhost:9092"),
        ("SASL_SSL://alice@host:9092", UsageError, "the target is a URL", "localhost:9092"),
    ],
)
def test_nothing_fits_is_one_line_that_names_what_was_tried(profiles, target, kind, says, hint):
    """It said nothing useful."""
    profiles(TWO)
    with pytest.raises(KadminError) as caught:
        settings_for(target)
    assert type(caught.value) is kind
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (hint or "") in (caught.value.hint or "")


def test_properties_go_on_top_of_whatever_was_named(client, jaas, monkeypatch):
    """Same file, other user."""
    path = client(f"bootstrap.servers=a:1\nsecurity.protocol=SASL_PLAINTEXT\n"
                  f"sasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config={jaas()}\n")  # fmt: skip
    monkeypatch.setenv("BOBS", jaas("bob", "builder"))
    literal = settings_for(path, {"sasl.jaas.config": jaas("bob", "builder"), "client.id": "me"})
    reference = settings_for(path, {"sasl.jaas.config": "env:BOBS", "client.id": "me"})
    assert (literal.username, literal.password, literal.client_id) == ("bob", Secret("builder"), "me")
    assert literal == reference


def test_properties_may_be_all_there_is_beside_an_address(jaas):
    """--property for everything."""
    found = settings_for("a:1", {"security.protocol": "sasl_ssl", "sasl.mechanism": "PLAIN",
                                 "sasl.jaas.config": jaas(module=_PLAIN), "retries": "3"})  # fmt: skip
    assert (found.security_protocol, found.mechanism, found.username) == ("SASL_SSL", "PLAIN", "alice")
    assert found.ignored == ("retries",)


_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_an_unknown_property_is_named_with_the_nearest():
    """I mistyped it."""
    with pytest.raises(UsageError, match=r"properties: unknown Kafka client property security\.protocl") as caught:
        settings_for("a:1", {"security.protocl": "SSL"})
    assert caught.value.hint == "Did you mean security.protocol?"


@pytest.mark.broker
def test_properties_without_effect_are_named(kafka, client, jaas):
    """I had set request.timeout.ms=5 and wondered for an hour; nobody had told me that it is passed over."""
    path = client(f"bootstrap.servers={kafka.bootstrap}\nretries=3\nsasl.jaas.config={jaas('bob', 'canary')}\n")
    with pytest.warns(UserWarning, match="no effect here") as noted:
        kn.connect(path, properties={"request.timeout.ms": "5"}).close()
    assert [str(one.message) for one in noted if one.category is UserWarning] == [
        "these properties have no effect here: request.timeout.ms, retries, sasl.jaas.config; "
        "docs/connections.md lists those that have one"
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        kn.connect(kafka.bootstrap, properties={"client.id": "me"}).close()
