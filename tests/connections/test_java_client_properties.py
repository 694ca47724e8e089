"""A Java client's properties file: read as Java reads it, every key used, listed as ignored, or refused."""

from __future__ import annotations

import time

import pytest

from kadmin_nb.errors import NotFound, Unsupported, UsageError
from kadmin_nb.profiles import settings_for
from kadmin_nb.profiles.java_properties import CONTINUED, MAX_PROPERTIES_BYTES
from kadmin_nb.secrets import Secret
from tests.connections.conftest import PLAIN


def test_the_usual_file(client, jaas):
    """The file that my Java jobs use."""
    found = settings_for(client(
        "# ours\nbootstrap.servers=a:9093,b:9093\nsecurity.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n"
        f"sasl.jaas.config={jaas()}\nclient.id=loader\nretries=5\nacks=all\n"))  # fmt: skip
    assert found.bootstrap == "a:9093,b:9093"
    assert (found.security_protocol, found.mechanism) == ("SASL_SSL", "SCRAM-SHA-512")
    assert (found.username, found.password) == ("alice", Secret("secret"))
    assert (found.client_id, found.check_hostname, found.pem.ca_file) == ("loader", True, None)
    assert found.ignored == ("acks", "retries")
    assert found.source.endswith("client.properties")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"client.id = x\r\n", "x"),
        (b"client.id:x", "x"),
        (b"client.id x", "x"),
        (b"  client.id=x  \n", "x"),
        (b"client.id=na\\\n   me\n", "name"),
        (b"client.id=na\\\r\n\tme\r\n", "name"),
        (b"client.id=\\u0061\\u00e9\n", "aé"),
        (b"client.id=\\ud83d\\ude00\n", "\U0001f600"),
        (b"client.id=\xe9\n", "é"),
        (b"client.id=a\rclient.id=b\n", "b"),
        (b"client.id=\n", "kadmin_nb"),
        (b"! note\n# client.id=no \\\nclient.id=x\n", "x"),
        (b"\xef\xbb\xbfclient.id=x\n", "x"),
        (b"client\\.id=x\n", "x"),
    ],
    ids=[
        "plain",
        "colon",
        "blank",
        "trimmed",
        "continued",
        "continued-crlf",
        "escapes",
        "surrogates",
        "latin-1",
        "last-wins-and-cr",
        "empty",
        "comments",
        "bom",
        "escaped-key",
    ],
)
def test_read_as_java_reads(client, content, expected):
    """It works in Java."""
    assert settings_for(client(content + b"\nbootstrap.servers=a:1\n")).client_id == expected


def test_a_jaas_text_over_several_lines(client):
    """That is how the manual writes it."""
    found = settings_for(client(
        "bootstrap.servers=a:1\r\nsecurity.protocol=SASL_PLAINTEXT\r\nsasl.mechanism=PLAIN\r\n"
        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\\r\n"
        '    username="alice" \\\r\n    password="a\\\\"b";\r\n'))  # fmt: skip
    assert (found.username, found.password) == ("alice", Secret('a"b'))


@pytest.mark.parametrize(
    ("content", "error", "says"),
    [
        (
            b"bootstrap.servers=a:1\n\nsecurity.protocl=SSL\n",
            UsageError,
            "unknown Kafka client property security.protocl",
        ),
        (
            b"client.id=a\\\n  b\nsasl.mechanisms=PLAIN\n",
            UsageError,
            "unknown Kafka client property sasl.mechanisms",
        ),
        (b"client.id=x\n", UsageError, "names no brokers"),
        (b"bootstrap.servers=kafka://u@a:1\n", UsageError, "bootstrap.servers is not host:port"),
        (b"", UsageError, "names no brokers"),
        (b"\0\1\2", UsageError, "is not text"),
        ("bootstrap.servers=a:1\n".encode("utf-16"), UsageError, "is not text"),
        (b"bootstrap.servers=a:1\nclient.id=\\u12\n", UsageError, "four hexadecimal digits"),
        (b"#" * (MAX_PROPERTIES_BYTES + 1), UsageError, "is larger than"),
        (b"\\\n" * (CONTINUED + 1), UsageError, "continued lines"),
    ],
)
def test_not_what_a_client_file_is(client, content, error, says):
    """Say what is wrong, in one line."""
    with pytest.raises(error) as caught:
        settings_for(client(content))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "content",
    [b"a\\\n" * CONTINUED + b"x" * 200_000, *(letter * MAX_PROPERTIES_BYTES for letter in (b"\\", b" ", b"="))],
)
def test_a_hostile_file_takes_bounded_time(client, content):
    """A file made to hang us."""
    started = time.process_time()
    with pytest.raises(UsageError):
        settings_for(client(content))
    assert time.process_time() - started < 5


def test_a_file_that_vanishes_or_is_not_ours_to_read(client, monkeypatch, here):
    """Permission denied is not a stack trace."""
    from kadmin_nb.profiles import java_properties

    with pytest.raises(NotFound, match="does not exist"):
        java_properties.parse_properties(here / "gone")
    path = client("bootstrap.servers=a:1\n")
    monkeypatch.setattr("os.open", _denied)
    with pytest.raises(UsageError, match="cannot be read: Permission denied"):
        settings_for(path)


def _denied(*_args, **_kwargs):
    raise PermissionError(13, "Permission denied")


@pytest.mark.parametrize(
    ("key", "value", "error", "says"),
    [
        ("security.protocol", "SASLPLAIN", UsageError, "Did you mean SASL_PLAINTEXT?"),
        ("security.protocol", "TLS", UsageError, ""),
        ("sasl.mechanism", "SCRAM-SHA-999", UsageError, "Did you mean SCRAM-SHA-"),
        ("sasl.mechanism", "scram-sha-512", UsageError, "Did you mean SCRAM-SHA-512?"),
        ("sasl.mechanism", "GSSAPI", UsageError, ""),
        ("sasl.mechanism", "OAUTHBEARER", UsageError, ""),
        ("sasl.mechanism", "", UsageError, "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
        ("sasl.mechanism", "PLAIN", UsageError, ""),
        ("ssl.endpoint.identification.algorithm", "none", UsageError, "An empty value switches"),
    ],
)
def test_a_wrong_value_is_refused_before_anything_is_sent(client, jaas, key, value, error, says):
    """kafka-python connects in the clear on a typo."""
    path = client(f"bootstrap.servers=a:1\nsecurity.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n"
                  f"sasl.jaas.config={jaas()}\n{key}={value}\n")  # fmt: skip
    with pytest.raises(error) as caught:
        settings_for(path)
    assert key in str(caught.value)
    assert says in (caught.value.hint or "")


def test_sasl_without_a_login_is_refused(client):
    """Java would look for another file; we have none."""
    with pytest.raises(UsageError, match="PLAIN needs a user and a password"):
        settings_for(client("bootstrap.servers=a:1\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"))


@pytest.mark.parametrize(("value", "checked"), [("https", True), ("HTTPS", True), ("", False), ("  ", False)])
def test_the_host_check_is_off_only_when_empty(client, value, checked):
    """Self-signed test cluster."""
    path = client(f"bootstrap.servers=a:1\nsecurity.protocol=SSL\nssl.endpoint.identification.algorithm={value}\n")
    assert settings_for(path).check_hostname is checked


def test_what_does_not_count_here_is_listed(client, jaas):
    """Which of my keys did you not use?"""
    found = settings_for(client(
        f"bootstrap.servers=a:1\nsasl.jaas.config={jaas()}\nssl.truststore.location=/none.jks\n"
        "request.timeout.ms=1\nkey.serializer=com.example.Evil\n"))  # fmt: skip
    assert found.ignored == ("key.serializer", "request.timeout.ms", "sasl.jaas.config", "ssl.truststore.location")
    assert (found.username, found.password, found.pem.ca_file) == (None, None, None)


def test_what_tls_is_to_be_like_is_listed(client):
    """The security team's template sets ssl.enabled.protocols."""
    found = settings_for(client("bootstrap.servers=a:1\nsecurity.protocol=SSL\nssl.protocol=TLSv1.3\n"
        "ssl.enabled.protocols=TLSv1.2, TLSv1.3\nssl.trustmanager.algorithm=PKIX\n"))  # fmt: skip
    assert found.ignored == ("ssl.enabled.protocols", "ssl.protocol", "ssl.trustmanager.algorithm")


def test_a_key_of_somebody_else_is_listed_as_ignored(client):
    """Java warns about our application's keys; kadmin-nb refused the whole file."""
    path = client("bootstrap.servers=a:1\nschema.registry.url=http://x\nour.app.name=loader\nretries=5\n"
                  "request.timeout.ms=1\nsocket.connection.setup.timeout.ms=1\n")  # fmt: skip
    assert settings_for(path).ignored == (
        "our.app.name", "request.timeout.ms", "retries", "schema.registry.url", "socket.connection.setup.timeout.ms",
    )  # fmt: skip


@pytest.mark.parametrize("key", ["ssl.truststore.locaton", "sasl.mechansim", "ssl.keystore.pasword", "client.di"])
def test_a_misspelt_key_is_refused_with_the_right_one(client, key):
    """One letter was missing, and we connected in the clear."""
    with pytest.raises(UsageError) as caught:
        settings_for(client(f"bootstrap.servers=a:1\n{key}=CANARY\n"))
    assert "Did you mean " in caught.value.hint
    assert "CANARY" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize(("value", "seconds"), [("2500", 2.5), (" 60000 ", 60.0), ("", None)])
def test_the_bound_of_a_call_counts(client, value, seconds):
    """`default.api.timeout.ms` was read and did nothing."""
    settings = settings_for(client(f"bootstrap.servers=a:1\ndefault.api.timeout.ms={value}\nrequest.timeout.ms=1\n"))
    assert settings.timeout == seconds
    assert "request.timeout.ms" in settings.ignored


@pytest.mark.parametrize("value", ["soon", "0", "-1", "1.5"])
def test_a_bound_that_is_not_one_is_refused(client, value):
    """A letter in the number, and it waited for ever."""
    with pytest.raises(UsageError, match=r"default\.api\.timeout\.ms is not a number of milliseconds above 0"):
        settings_for(client(f"bootstrap.servers=a:1\ndefault.api.timeout.ms={value}\n"))


KAFKASHADED = f"kafkashaded.{PLAIN}"
SASL = "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        ("SASL_SSL://localhost:9093,SASL_SSL://localhost:9094", "localhost:9093,localhost:9094"),
        ("SASL_SSL://a:9093, b:9093", "a:9093,b:9093"),
        ("EXTERNAL://[::1]:9093", "[::1]:9093"),
        ("PLAINTEXT://a:9093", "a:9093"),
    ],
)
def test_a_scheme_before_a_host_is_dropped(client, jaas, addresses, expected):
    """The file of our Java jobs works there; here `there is no '://'`."""
    settings = settings_for(client(f"bootstrap.servers={addresses}\n{SASL}sasl.jaas.config={jaas(module=PLAIN)}\n"))
    assert settings.bootstrap == expected


def test_options_of_a_server_are_passed_over_by_name(client):
    """`sets an option other than username and password`, and not which: Java connects with that file."""
    settings = settings_for(client(
        "bootstrap.servers=a:1\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f"sasl.jaas.config={PLAIN} required \\\n"
        '  username="admin" password="secret-1" \\\n  user_admin="secret-1" user_alice="secret-2";\n'))  # fmt: skip
    assert (settings.username, settings.password) == ("admin", Secret("secret-1"))
    assert settings.ignored == ("user_admin in sasl.jaas.config", "user_alice in sasl.jaas.config")


def test_classes_under_the_names_that_databricks_gives_them(client, jaas):
    """On Databricks Kafka's classes begin with kafkashaded., and the module was refused."""
    settings = settings_for(client(
        f"bootstrap.servers=a:1\n{SASL}sasl.jaas.config={jaas(module=KAFKASHADED)}\n"))  # fmt: skip
    assert (settings.username, settings.password) == ("alice", Secret("secret"))
    with pytest.raises(Unsupported, match=r"names kafkashaded\.com\.evil\.LoginModule, which is refused"):
        settings_for(client(
            f"bootstrap.servers=a:1\n{SASL}sasl.jaas.config=kafkashaded.com.evil.LoginModule required;\n"))  # fmt: skip
