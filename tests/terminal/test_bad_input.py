"""Wrong input of every sort: one clear line, exit 1, nothing changed, and no secret repeated."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12
from cryptography.x509.oid import NameOID

pytestmark = pytest.mark.broker

CANARY = "canary-of-bad-input"
CASES = {
    "a flag of another action": (
        "kafka-client-quotas --describe --add producer_byte_rate=1",
        "--add belongs to --alter, and --describe is asked for",
    ),
    "a flag of another action, of the other tool": (
        "kafka-configs --describe --user whoever --add-config SCRAM-SHA-256=[password={canary}]",
        "--add-config belongs to --alter, and --describe is asked for",
    ),
    "more types than names": (
        "kafka-configs --alter --entity-type users --entity-type clients --entity-name a "
        "--add-config producer_byte_rate=1000000",
        "An entity name must be specified with --alter of clients",
    ),
    "more names than types": (
        "kafka-configs --describe --entity-name a",
        "At least one entity type must be specified",
    ),
    "both mechanisms, the second with wrong iterations": (
        "kafka-configs --alter --user {user} "
        "--add-config SCRAM-SHA-256=[password=env:NEW],SCRAM-SHA-512=[iterations=1,password=env:NEW]",
        "iterations are a number from 4096 to 16384",
    ),
    "both mechanisms, the second with a password as text": (
        "kafka-configs --alter --user {user} "
        "--add-config SCRAM-SHA-256=[password=env:NEW],SCRAM-SHA-512=[password={canary}]",
        "a password is given only by reference",
    ),
    "both mechanisms, the second without its secret": (
        "kafka-configs --alter --user {user} "
        "--add-config SCRAM-SHA-256=[password=env:NEW],SCRAM-SHA-512=[password=env:NOT_THERE]",
        "NOT_THERE",
    ),
    "a store with a wrong password": (
        "kafka-configs --describe --topic a --command-config {folder}/store.properties",
        "store.p12",
    ),
    "a module that nobody knows": (
        "kafka-configs --describe --topic a --command-config {folder}/jaas.properties",
        "sasl.jaas.config names org.evil.Module, which is refused",
    ),
    "a file of configs that is a directory": (
        "kafka-configs --alter --user {user} --add-config-file {folder}",
        "is not a file",
    ),
    "properties that are a directory": (
        "kafka-configs --describe --topic a --command-config {folder}",
        "is not a file",
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A trust store whose password is another one, and a login by a module of somebody's own."""
    (tmp_path / "store.p12").write_bytes(_trust_store(b"another-password"))
    tls = f"security.protocol=SSL\nssl.truststore.type=PKCS12\nssl.truststore.location={tmp_path}/store.p12\n"
    (tmp_path / "store.properties").write_text(f"{tls}ssl.truststore.password={CANARY}\n")
    jaas = f'sasl.jaas.config=org.evil.Module required password="{CANARY}";\n'
    (tmp_path / "jaas.properties").write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n{jaas}")
    return tmp_path


def _trust_store(password: bytes) -> bytes:
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")])
    day = timedelta(days=1)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    dated = builder.not_valid_before(datetime.now(UTC) - day).not_valid_after(datetime.now(UTC) + day)
    encryption = BestAvailableEncryption(password)
    return pkcs12.serialize_key_and_certificates(b"ca", key, dated.sign(key, hashes.SHA256()), None, encryption)


@pytest.mark.parametrize(("line", "says"), CASES.values(), ids=CASES)
def test_wrong_input_is_one_line_and_changes_nothing(line, says, kadmin, kafka, cluster, unique, folder, monkeypatch):
    """A slip in a script printed a page, ended with 0, or changed the half of it."""
    monkeypatch.setenv("NEW", CANARY)
    user = unique("user")
    tool, *words = line.format(user=user, folder=folder, canary=CANARY).split()
    answer = kadmin(tool, "--bootstrap-server", kafka.bootstrap, *words)
    first, *hint = answer.err.splitlines()
    assert (answer.code, answer.out) == (1, "")
    assert says in first
    assert len(hint) <= 1
    assert all(line.startswith("Hint: ") for line in hint)
    assert CANARY not in answer.err
    assert cluster.scram.describe(user=user).to_arrow()["mechanism"].to_pylist() == [None]
    assert len(cluster.quotas.describe(user=[user, "a"])) == 0
