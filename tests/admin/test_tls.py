"""TLS with PEM files: the good case, and every bad one with its cause."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import kadmin_nb as kn
from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.errors import ConnectionFailed, NotFound
from kadmin_nb.local import LocalKafka
from kadmin_nb.model.connection_settings import PemFiles, Settings
from kadmin_nb.secrets import Secret
from tests.admin.idle_connections import idle_out
from tests.admin.logins import logs_in
from tests.waiting import eventually

pytestmark = pytest.mark.broker


@dataclass
class Authority:
    """A certificate authority in a folder."""

    folder: Path
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def in_(cls, folder: Path, name: str) -> Authority:
        folder.mkdir()
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _signed(_name(name), _name(name), key.public_key(), key, is_ca=True)
        (folder / "ca.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return cls(folder, key, certificate)

    @property
    def file(self) -> str:
        return str(self.folder / "ca.pem")

    def issue(
        self, name: str, *hosts: str, password: str | None = None, lifetime: float = 2 * 86400
    ) -> tuple[Path, Path]:
        """A certificate for those hosts and its key, as PEM files; valid for so many seconds."""
        key = ec.generate_private_key(ec.SECP256R1())
        signed = _signed(_name(name), self.certificate.subject, key.public_key(), self.key, hosts, lifetime=lifetime)
        hidden = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        files = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        files[0].write_bytes(signed.public_bytes(pem))
        files[1].write_bytes(key.private_bytes(pem, pkcs8, hidden))
        return files


def tls_properties(certificate: Path, key: Path, ca: str | None = None) -> dict[str, str]:
    """The broker's properties of a listener SSL; with `ca`, clients have to show a certificate that it signed."""
    clients = {"client.auth": "required", "truststore.type": "PEM", "truststore.location": ca} if ca else {}
    store = {"type": "PEM", "certificate.chain": certificate.read_text(), "key": key.read_text()}
    ours = {f"keystore.{name}": value for name, value in store.items()}
    return {f"listener.name.ssl.ssl.{name}": value for name, value in (ours | clients).items()}


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _signed(subject, issuer, public, key, hosts=(), is_ca=False, lifetime=2 * 86400) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(issuer, subject, public, x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(days=1))
    builder = builder.not_valid_after(now + datetime.timedelta(seconds=lifetime))
    builder = builder.add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
    if hosts:
        names = [x509.IPAddress(ipaddress.ip_address(h)) if h[0].isdigit() else x509.DNSName(h) for h in hosts]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(key, hashes.SHA256())


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.in_(tmp_path_factory.mktemp("tls") / "ours", "our ca")


@pytest.fixture(scope="module")
def tls_kafka(authority: Authority) -> Iterator[LocalKafka]:
    """A Kafka whose TLS listener asks clients for a certificate of our authority."""
    certificate, key = authority.issue("broker", "127.0.0.1")
    with kn.local.start(listeners={"SSL": "SSL"}, extra=tls_properties(certificate, key, authority.file)) as running:
        yield running


@pytest.fixture
def good(tls_kafka: LocalKafka, authority: Authority) -> dict[str, object]:
    certificate, key = authority.issue("client", password="canary")
    return {
        "bootstrap": tls_kafka.address("SSL"),
        "security_protocol": "SSL",
        "ca_file": authority.file,
        "certificate_file": str(certificate),
        "key_file": str(key),
        "key_password": Secret("canary"),
    }


def settings_of(values: dict[str, object]) -> Settings:
    """The settings of these values, those of PEM files among them."""
    files = {field.name: values[field.name] for field in fields(PemFiles) if field.name in values}
    return Settings(**{name: value for name, value in values.items() if name not in files}, pem=PemFiles(**files))


def test_certificates_on_both_sides(good, capfd):
    """Nothing but JKS worked."""
    kafka = LiveKafka(settings_of(good))
    assert [b.id for b in kafka.brokers()] == [1]
    assert kafka.quotas.describe().num_rows == 0
    kafka.close()
    assert capfd.readouterr() == ("", "")


def refused(settings: dict[str, object], capfd) -> str:
    started = time.monotonic()
    with pytest.raises(ConnectionFailed) as raised:
        LiveKafka(settings_of(settings), timeout=30.0)
    assert time.monotonic() - started < 25
    assert capfd.readouterr() == ("", "")
    assert "canary" not in f"{raised.value} {raised.value.hint}"
    assert "\n" not in str(raised.value)
    return f"{raised.value.code}: {raised.value} Hint: {raised.value.hint}"


def test_an_authority_that_we_do_not_trust(good, tmp_path, capfd):
    """A certificate of somebody else was a time-out."""
    stranger = Authority.in_(tmp_path / "theirs", "their ca")
    said = refused({**good, "ca_file": stranger.file}, capfd)
    assert said.startswith("SSL_HANDSHAKE_FAILED: ")
    assert "the certificate is refused" in said


def test_a_certificate_for_another_host(good, tls_kafka, capfd):
    """The certificate names 127.0.0.1, I typed localhost."""
    port = str(good["bootstrap"]).rpartition(":")[2]
    said = refused({**good, "bootstrap": f"localhost:{port}"}, capfd)
    assert said.startswith("SSL_HANDSHAKE_FAILED: ")
    assert "Hostname mismatch" in said


def test_a_certificate_for_another_host_may_be_allowed(good):
    """`ssl.endpoint.identification.algorithm=` is what our operators have."""
    port = str(good["bootstrap"]).rpartition(":")[2]
    LiveKafka(settings_of({**good, "bootstrap": f"localhost:{port}", "check_hostname": False})).close()


def test_plain_text_to_a_tls_port(good, capfd):
    """I had forgotten security.protocol."""
    said = refused({"bootstrap": good["bootstrap"]}, capfd)
    assert said.startswith("NETWORK_EXCEPTION: ")
    assert said.partition("Hint: ")[0].rstrip().endswith("closes the connection")
    assert "We speak PLAINTEXT: is this a broker's port, and which protocol" in said


def test_no_certificate_where_one_is_wanted(good, capfd):
    """The broker hung up and did not say that it wanted mine."""
    said = refused({k: v for k, v in good.items() if "key" not in k and "certificate" not in k}, capfd)
    assert "SSL" in said or "certificate" in said


@pytest.mark.parametrize("part", ["ca_file", "certificate_file", "key_file"])
def test_a_file_that_is_not_there(good, capfd, part):
    """A wrong path was a time-out."""
    with pytest.raises(NotFound, match=r"no such file: /no/such/file\.pem"):
        LiveKafka(settings_of({**good, part: "/no/such/file.pem"}))
    assert capfd.readouterr() == ("", "")


def test_a_wrong_password_of_the_key(good, capfd):
    """A wrong key password printed the key."""
    assert "INVALID_CONFIG" in refused({**good, "key_password": Secret("canary-2")}, capfd)


@pytest.mark.long
def test_a_certificate_that_expires_while_we_are_connected(good, authority):
    """`socket disconnected`, at midnight, when our certificate ended."""
    certificate, key = authority.issue("brief", lifetime=2.5)
    settings = settings_of({**good, "certificate_file": str(certificate), "key_file": str(key), "key_password": None})
    with contextlib.closing(LiveKafka(settings)) as kafka:
        eventually(lambda: logs_in(settings), False)
        idle_out(kafka)
        with pytest.raises(ConnectionFailed) as caught:
            kafka.brokers()
    assert "\n" not in str(caught.value)
