"""TLS stores: PEM files as they are, PEM texts as private files; OpenSSL loads what comes out."""

from __future__ import annotations

import datetime
import ssl
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kadmin_nb.errors import NotFound, UsageError
from kadmin_nb.profiles import settings_for

TLS = "bootstrap.servers=a:1\nsecurity.protocol=SSL\n"


def _pair(password=None):
    """A self-signed certificate and its key in PKCS#8, as PEM texts."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "me")])
    now = datetime.datetime.now(datetime.UTC)
    tomorrow = now + datetime.timedelta(days=1)
    draft = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, tomorrow)
    authority = x509.BasicConstraints(ca=True, path_length=None)
    certificate = draft.add_extension(authority, critical=True).sign(key, hashes.SHA256())
    kind = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, kind)
    return certificate.public_bytes(serialization.Encoding.PEM).decode(), text.decode()


CERTIFICATE, KEY = _pair()
LOCKED_CERTIFICATE, LOCKED_KEY = _pair(b"open sesame")


def _escaped(text):
    return text.replace("\n", "\\n")


def _continued(text):
    return text.strip().replace("\n", " \\\n  ")


def _loads(settings):
    """What a client would do with the settings."""
    context = ssl.create_default_context(cafile=settings.pem.ca_file)
    if settings.pem.certificate_file:
        password = settings.pem.key_password.reveal() if settings.pem.key_password else None
        context.load_cert_chain(settings.pem.certificate_file, settings.pem.key_file, password)
    return context


def test_files_are_used_where_they_are(client, here):
    """One file with key and chain, as Java has it."""
    (here / "ca.pem").write_text(CERTIFICATE)
    (here / "me.pem").write_text(LOCKED_KEY + LOCKED_CERTIFICATE)
    found = settings_for(client(
        f"{TLS}ssl.truststore.type=PEM\nssl.truststore.location=ca.pem\nssl.keystore.type=PEM\n"
        "ssl.keystore.location=me.pem\nssl.key.password=open sesame\n"))  # fmt: skip
    assert found.pem.ca_file == str(here / "ca.pem")
    assert found.pem.certificate_file == found.pem.key_file == str(here / "me.pem")
    assert found.ignored == ()
    assert len(_loads(found).get_ca_certs()) == 1


@pytest.mark.parametrize("written", [_escaped, _continued])
def test_texts_become_private_files(client, written):
    """The whole identity in one properties file, joined to one line by Java's continuation."""
    path = client(f"{TLS}ssl.truststore.type=PEM\nssl.truststore.certificates={written(CERTIFICATE + CERTIFICATE)}\n"
                  f"ssl.keystore.type=PEM\nssl.keystore.certificate.chain={written(CERTIFICATE)}\n"
                  f"ssl.keystore.key={written(KEY)}\n")  # fmt: skip
    found = settings_for(path)
    _loads(found)
    assert Path(found.pem.ca_file).read_text() == CERTIFICATE + CERTIFICATE
    assert Path(found.pem.key_file).read_text() == KEY
    assert stat.S_IMODE(Path(found.pem.key_file).stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(found.pem.key_file).parent.stat().st_mode) == 0o700
    assert settings_for(path) == found


def test_private_files_are_gone_when_python_ends(client):
    """A private key left in /tmp."""
    path = client(f"{TLS}ssl.keystore.type=PEM\nssl.keystore.certificate.chain={_escaped(CERTIFICATE)}\n"
                  f"ssl.keystore.key={_escaped(KEY)}\n")  # fmt: skip
    code = f"from kadmin_nb.profiles import settings_for; print(settings_for({path!r}).pem.key_file)"
    named = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=_ROOT).stdout
    assert named.strip().endswith(".pem")
    assert not Path(named.strip()).parent.exists()


_ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("lines", "error", "says"),
    [
        ("ssl.truststore.type=pem\nssl.truststore.location=ca.pem", UsageError, "ssl.truststore.type is not PEM"),
        ("ssl.truststore.type=PEM\nssl.truststore.location=no.pem", NotFound, "no.pem, the store of"),
        ("ssl.truststore.type=PEM\nssl.truststore.location=.", UsageError, "is not a file"),
        ("ssl.truststore.type=PEM\nssl.truststore.location=client.properties", UsageError, "is not a PEM, PKCS12"),
        ("ssl.truststore.type=PEM\nssl.truststore.certificates=CANARY", UsageError, "not PEM text with a CERTIFICATE"),
        ("ssl.truststore.type=PEM\nssl.truststore.certificates=-----BEGIN CERTIFICATE-----", UsageError, "not PEM"),
        (f"ssl.keystore.type=PEM\nssl.keystore.key={_escaped(KEY)}", UsageError,
         "ssl.keystore.certificate.chain is not PEM text"),
        (f"ssl.keystore.type=PEM\nssl.keystore.key={_escaped(CERTIFICATE)}\n"
         f"ssl.keystore.certificate.chain={_escaped(CERTIFICATE)}", UsageError, "is not PEM text with a PRIVATE KEY"),
        (f"ssl.keystore.type=PEM\nssl.keystore.key={_escaped(LOCKED_KEY)}\n"
         f"ssl.keystore.certificate.chain={_escaped(CERTIFICATE)}", UsageError, "ssl.key.password is missing"),
        ("ssl.keystore.type=PEM\nssl.keystore.location=locked.pem", UsageError, "ssl.key.password is missing"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_store_is_said(client, here, lines, error, says):
    (here / "locked.pem").write_text(LOCKED_KEY + LOCKED_CERTIFICATE)
    with pytest.raises(error) as caught:
        settings_for(client(f"{TLS}{lines}\n"))
    text = f"{caught.value} {caught.value.hint}"
    assert says in text
    assert "CANARY" not in text
    assert "\n" not in text
