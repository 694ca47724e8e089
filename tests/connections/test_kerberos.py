"""GSSAPI logins: the files of Java clients, and what is missing in a line. No KDC is needed here."""

from __future__ import annotations

import importlib.util

import kafka.errors
import pytest

import kadmin_nb as kn
from kadmin_nb.admin import contact
from kadmin_nb.errors import AuthenticationFailed, ConnectionFailed, Unsupported, UsageError
from kadmin_nb.profiles import settings_for

FILE = "bootstrap.servers=a:1\nsecurity.protocol=SASL_SSL\nsasl.mechanism=GSSAPI\n"
SERVICE = "sasl.kerberos.service.name=kafka\n"


def module(options=""):
    """The line of Java's own login module."""
    return f"sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required {options};\n"


@pytest.mark.parametrize(
    "text",
    [
        FILE + SERVICE,
        FILE + SERVICE + module("useTicketCache=true"),
        FILE + module('useTicketCache=true serviceName="kafka"'),
        FILE.replace("sasl.mechanism=GSSAPI\n", "") + SERVICE + module(),
    ],
)
def test_the_file_of_a_java_client_is_read(client, text):
    """Kerberos was refused by its name."""
    settings = settings_for(client(text))
    assert (settings.mechanism, settings.kerberos_service, settings.ignored) == ("GSSAPI", "kafka", ())


def test_what_is_missing_is_one_line(client):
    """GSSAPI failed somewhere in the library."""
    with pytest.raises(UsageError, match="needs the name of the brokers' service") as caught:
        settings_for(client(FILE))
    assert caught.value.hint == "sasl.kerberos.service.name=kafka"


def test_options_for_other_tickets_are_noted(client):
    """It connected with whatever ticket there was."""
    settings = settings_for(client(FILE + SERVICE + module('useKeyTab=true keyTab="/x"')))
    assert settings.ignored == ("keyTab in sasl.jaas.config", "useKeyTab in sasl.jaas.config")


def test_without_the_package_it_is_named(client, monkeypatch):
    """It tried again and again, and said that no broker answered."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Unsupported, match="needs the package gssapi") as caught:
        kn.connect(client(FILE + SERVICE))
    assert "pip install 'kadmin_nb[kerberos]'" in caught.value.hint


class NoTicket(Exception):
    """What the package gssapi raises."""


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (NoTicket("No Kerberos credentials available"), AuthenticationFailed, "No Kerberos credentials available"),
        (kafka.errors.SaslAuthenticationFailedError("bad"), AuthenticationFailed, "bad"),
        (kafka.errors.UnsupportedSaslMechanismError("PLAIN"), AuthenticationFailed, "PLAIN"),
        (kafka.errors.KafkaConnectionError("gone"), ConnectionFailed, "no connection: Connection refused"),
    ],
)
def test_a_login_that_fails_says_why(client, error, kind, words):
    """GSSError, with numbers."""
    settings = settings_for(client((FILE + SERVICE).replace("a:1", "127.0.0.1:1")))
    failure = contact.cause(settings, {("127.0.0.1", 1): error}, 1.0)
    assert isinstance(failure, kind)
    assert words in str(failure)
    assert kind is ConnectionFailed or "the ticket, which klist shows" in str(failure.hint)
