"""Other people on a secure Kafka."""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from kadmin_nb.secrets import Secret
from tests.waiting import eventually


def let_in(kafka: LocalKafka, user: str) -> Path:
    """Make a user without rights; their properties, once they can log in."""
    with kafka.connect() as admin:
        admin._kafka.scram.upsert(user, Secret(password := secrets.token_urlsafe()))
    place = kafka.remember_login(user, password)
    eventually(lambda: _can_log_in(kafka, user), True)
    return place


def _can_log_in(kafka: LocalKafka, user: str) -> bool:
    with contextlib.suppress(kn.AuthenticationFailed):
        kafka.connect(user).close()
        return True
    return False
