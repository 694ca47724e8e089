"""Other people on a secure Kafka."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path

from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

import kadmin_nb as kn
from kadmin_nb.admin.ports import CredentialChange
from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.local import LocalKafka
from kadmin_nb.model.scram import ScramUser
from kadmin_nb.secrets import Secret
from tests.admin.logins import admin_client
from tests.waiting import eventually


def give_password(kafka: LiveKafka, user: str, password: str, mechanism: str = "SCRAM-SHA-512") -> None:
    """Let `user` log in with this password, without a plan."""
    (refusal,) = kafka.scram.alter({ScramUser(user): CredentialChange(mechanism, Secret(password))}).values()
    assert refusal is None, refusal


def grant(kafka: LocalKafka, user: str, resource: ResourceType, name: str, operation: AclOperation) -> None:
    """Give a user a right on a resource; brokers may take a moment to know it."""
    with kafka.connect() as admin:
        java = admin_client(admin.settings)
    whose = (f"User:{user}", "*", operation, AclPermissionType.ALLOW)
    binding = AclBinding(resource, name, ResourcePatternType.LITERAL, *whose)
    java.create_acls([binding])[binding].result()


def let_in(kafka: LocalKafka, user: str) -> Path:
    """Make a user without rights; their properties, once they can log in."""
    with kafka.connect() as admin:
        give_password(admin.port, user, password := secrets.token_urlsafe())
    place = kafka.remember_login(user, password)
    eventually(lambda: _can_log_in(kafka, user), True)
    return place


def _can_log_in(kafka: LocalKafka, user: str) -> bool:
    with contextlib.suppress(kn.errors.AuthenticationFailed):
        kafka.connect(user).close()
        return True
    return False
