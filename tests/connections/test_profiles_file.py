"""`kadmin-nb.toml`: where it is found, what a profile may say, and what it may not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kadmin_nb.errors import NotFound, UsageError
from kadmin_nb.model.connection_settings import PemFiles, Settings
from kadmin_nb.profiles import profile_names, settings_for
from kadmin_nb.secrets import Secret

EXAMPLE = Path(__file__).parents[2] / "kadmin-nb.example.toml"


def test_the_nearest_file_upwards_then_the_users_own(profiles, here, tmp_path, monkeypatch):
    """Which file did it take?"""
    profiles("[profiles.own]\n", tmp_path / "home" / ".config" / "kadmin-nb")
    assert profile_names() == ("own",)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert profile_names() == ()
    profiles("[profiles.xdg]\n", tmp_path / "xdg" / "kadmin-nb")
    assert profile_names() == ("xdg",)
    profiles("[profiles.parent]\n", here.parent)
    assert profile_names() == ("parent",)
    profiles("[profiles.here]\n")
    assert profile_names() == ("here",)
    monkeypatch.setenv("KADMIN_CONFIG", profiles("[profiles.named]\n", tmp_path / "named"))
    assert profile_names() == ("named",)
    monkeypatch.setenv("KADMIN_CONFIG", os.devnull)
    assert profile_names() == ()


def test_a_named_file_must_be_there(monkeypatch):
    monkeypatch.setenv("KADMIN_CONFIG", "/no/such/file.toml")
    with pytest.raises(NotFound, match=r"/no/such/file\.toml, the kadmin-nb\.toml in use, does not exist"):
        settings_for("prod")


def test_somebody_elses_file_is_not_picked_up(profiles, monkeypatch):
    """A file in /tmp would decide where my secrets go."""
    path = profiles("[profiles.evil]\n")
    somebodys = os.stat_result([0o100644, 1, 1, 1, 4711, 0, 1, 0, 0, 0])
    with monkeypatch.context() as patch:
        patch.setattr(Path, "stat", lambda _path, **_kwargs: somebodys)
        with pytest.raises(UsageError, match="belongs to another user"):
            profile_names()
    monkeypatch.setenv("KADMIN_CONFIG", path)
    assert profile_names() == ("evil",)


def test_a_profile_of_its_own_words(profiles, here, monkeypatch):
    """No Java in my life."""
    monkeypatch.setenv("PW", "secret")
    (here / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    path = profiles("""
        [profiles.prod]
        bootstrap = "a:9093,b:9093"
        username = "alice"
        password = "env:PW"
        security.protocol = "SASL_SSL"
        "sasl.mechanism" = "SCRAM-SHA-512"
        retries = 3
        enable.idempotence = true
        [profiles.prod.ssl.truststore]
        type = "PEM"
        location = "ca.pem"
        """)
    assert settings_for("prod") == Settings(
        "a:9093,b:9093", "SASL_SSL", "SCRAM-SHA-512", "alice", Secret("secret"), PemFiles(str(here / "ca.pem")),
        source=f"profile prod in {path}")  # fmt: skip
    assert settings_for("prod").ignored == ("enable.idempotence", "retries")


@pytest.mark.parametrize("form", ['properties = "sub/client.properties"\nclient.id = "mine"',
                                  'client.id = "mine"\nproperties = "sub/client.properties"'])  # fmt: skip
def test_a_profile_over_a_properties_file(profiles, here, jaas, form):
    """The file is the team's, the client-id is mine."""
    (here / "sub").mkdir()
    (here / "sub" / "client.properties").write_text(
        f"bootstrap.servers=a:1\nclient.id=team\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\n"
        f"sasl.jaas.config={jaas()}\n")  # fmt: skip
    profiles(f"[profiles.prod]\n{form}\n")
    found = settings_for("prod")
    assert (found.client_id, found.username, found.password) == ("mine", "alice", Secret("secret"))


def test_a_profiles_login_goes_before_the_files(profiles, here, jaas, monkeypatch):
    monkeypatch.setenv("PW", "bobs")
    (here / "c.properties").write_text(f"bootstrap.servers=a:1\nsecurity.protocol=SASL_PLAINTEXT\n"
                                       f"sasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config={jaas()}\n")  # fmt: skip
    profiles('[profiles.prod]\nproperties = "c.properties"\nusername = "bob"\npassword = "env:PW"\n')
    assert settings_for("prod").username == "bob"
    assert settings_for("prod", {"sasl.jaas.config": jaas("eve")}).username == "eve"


def test_java_keys_in_a_table_of_their_own(profiles):
    profiles('[profiles.x]\nbootstrap = "a:1"\n[profiles.x.properties]\nclient.id = "c"\n"security.protocol" = "SSL"\n')
    assert (settings_for("x").client_id, settings_for("x").security_protocol) == ("c", "SSL")


@pytest.mark.parametrize(
    ("content", "says", "hint"),
    [
        ('password = "CANARY"', "password is a literal secret, which is refused", "env:NAME, file:PATH"),
        ('ssl.key.password = "CANARY"', "ssl.key.password is a literal secret", "env:NAME"),
        ('sasl.jaas.config = "CANARY"', "sasl.jaas.config is a literal secret", "env:NAME"),
        ("password = true", "password: ", None),
        ('bootstrap.server = "a:1"', "unknown Kafka client property bootstrap.server",
         "Did you mean bootstrap.servers?"),
        ('bootstap = "a:1"', "unknown Kafka client property bootstap", "Did you mean bootstrap?"),
        ('propertes = "x"', "unknown Kafka client property propertes", "Did you mean properties?"),
        ('username = "a"', "username and password go together", None),
        ("bootstrap = 1", "bootstrap: expected str | null, got int", None),
        ("client.id = 1979-05-27", "client.id: expected ", None),
        ('client.id = ["a"]', "client.id: expected ", None),
        ("", "names no brokers", None),
    ],
)  # fmt: skip
def test_what_a_profile_may_not_say(profiles, content, says, hint):
    """One line, the nearest word, and never the secret."""
    path = profiles(f"[profiles.prod]\n{_with_user(content)}\n")
    with pytest.raises(UsageError) as caught:
        settings_for("prod")
    assert says in str(caught.value)
    assert (hint or "") in (caught.value.hint or "")
    assert f"profile prod in {path}" in str(caught.value)
    assert "CANARY" not in f"{caught.value}{caught.value.hint}"


def _with_user(content):
    return f'username = "u"\n{content}' if content.startswith("password") else content


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('[profiles.x\npassword = "CANARY"', "is not TOML, at line 1"),
        ('[profiles.x]\npassword = "CANARY', "is not TOML, at line 2"),
        ("x = " + "[" * 100_000, "is not TOML"),
        ("[profile.x]", "profile is not known"),
        ("profiles = 1", "profiles: expected object"),
        ("[profiles]\nx = 1", "expected object, got int"),
        ("#" * (1 << 20), "is larger than"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_one_of_ours(profiles, content, says):
    profiles(content + "\n")
    with pytest.raises(UsageError) as caught:
        settings_for("x")
    assert says in str(caught.value)
    assert "CANARY" not in str(caught.value)


def test_the_example_is_a_working_file(monkeypatch, tmp_path):
    """I copied it and it did not parse."""
    monkeypatch.setenv("KADMIN_CONFIG", str(EXAMPLE))
    assert profile_names() == ("local", "staging", "prod")
    assert settings_for("local").bootstrap == "localhost:9092"
    monkeypatch.setenv("KAFKA_PASSWORD", "secret")
    assert settings_for("staging").mechanism == "SCRAM-SHA-512"
    with pytest.raises(NotFound, match=r"client\.properties"):
        settings_for("prod")


def test_a_profile_says_how_long_a_call_may_take(profiles):
    """Every line to the far cluster needed --timeout."""
    profiles('[profiles.far]\nbootstrap = "a:1"\ndefault.api.timeout.ms = 2500\n')
    assert settings_for("far").timeout == 2.5
    profiles('[profiles.far]\nbootstrap = "a:1"\ndefault.api.timeout.ms = "soon"\n')
    with pytest.raises(UsageError, match=r"default\.api\.timeout\.ms is not a number of milliseconds"):
        settings_for("far")
