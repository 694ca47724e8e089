"""The audit as the job of the bundle runs it: a profile by name, its password in a secret scope, a real broker."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import javaproperties
import pytest

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from kadmin_nb.profiles.secret_references import read_reference
from kadmin_nb.secrets import Secret
from tests.databricks.tasks import TESTS, as_task

pytestmark = [pytest.mark.secure, pytest.mark.usefixtures("on_databricks")]

AUDIT = TESTS.parent / "notebooks" / "runbooks" / "quota_audit.ipynb"
PROFILE = """
[profiles.prod]
bootstrap = "{bootstrap}"
security.protocol = "SASL_PLAINTEXT"
sasl.mechanism = "PLAIN"
username = "admin"
password = "databricks:kafka/quota-audit"
"""


@pytest.fixture
def password(secure_kafka: LocalKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """That of a super user; it is in the scope, and `prod` refers to it there."""
    found = _password(secure_kafka)
    config = tmp_path / "kadmin-nb.toml"
    config.write_text(PROFILE.format(bootstrap=secure_kafka.bootstrap))
    monkeypatch.setenv("KADMIN_CONFIG", str(config))
    kept = {("kafka", "quota-audit"): found}
    scopes = SimpleNamespace(get=lambda scope, key: kept[scope, key])
    monkeypatch.setattr(sys.modules["__main__"], "dbutils", SimpleNamespace(secrets=scopes), raising=False)
    return found


def _password(kafka: LocalKafka) -> str:
    login = javaproperties.loads(kafka.client_properties.read_text())["sasl.jaas.config"]
    return login.partition('password="')[2].partition('"')[0]


def test_the_audit_runs_with_a_password_out_of_a_scope(
    password: str, secure_kafka: LocalKafka, capfd: pytest.CaptureFixture[str]
) -> None:
    """The driver's log had the password in it."""
    assert read_reference("databricks:kafka/quota-audit", Path()) == Secret(password)
    said = as_task(AUDIT, cluster="prod", cluster_id=secure_kafka.cluster_id)
    assert (said["runbook"], said["ok"], said["changed"]) == ("quota_audit", True, False)
    assert said["cluster_id"] == secure_kafka.cluster_id
    shown = capfd.readouterr()
    assert password not in json.dumps(said) + shown.out + shown.err


@pytest.mark.usefixtures("password")
def test_another_cluster_than_meant_fails_the_job() -> None:
    """It audited the wrong one, every morning."""
    with pytest.raises(kn.KadminError, match="cluster"):
        as_task(AUDIT, cluster="prod", cluster_id="another")


@pytest.mark.usefixtures("password")
def test_a_scope_that_is_closed_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """com.databricks.… PERMISSION_DENIED, and eighty lines of the JVM."""
    monkeypatch.delattr(sys.modules["__main__"], "dbutils")
    closed = SimpleNamespace(get=lambda scope, key: {}[scope])
    monkeypatch.setattr(sys.modules["__main__"], "dbutils", SimpleNamespace(secrets=closed), raising=False)
    with pytest.raises(kn.NotFound, match="databricks:kafka/quota-audit: the store answers with KeyError"):
        as_task(AUDIT, cluster="prod")
