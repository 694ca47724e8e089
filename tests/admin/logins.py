"""How the users of a secure local Kafka log in."""

from __future__ import annotations

import logging

import javaproperties
from confluent_kafka.admin import AdminClient

from kadmin_nb.admin import transactions
from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.errors import AuthenticationFailed, ConnectionFailed
from kadmin_nb.local import LocalKafka
from kadmin_nb.model.connection_settings import Settings
from kadmin_nb.secrets import Secret


def settings_of(kafka: LocalKafka, user: str = "admin", password: str | None = None, **changes: object) -> Settings:
    """How `user` logs in to a secure local Kafka, by PLAIN with the password that is kept for it."""
    if password is None:
        jaas = javaproperties.loads(kafka.user_properties(user).read_text())["sasl.jaas.config"]
        password = jaas.split('password="', 1)[1].split('"', 1)[0]
    given: dict[str, object] = {
        "security_protocol": "SASL_PLAINTEXT",
        "mechanism": "PLAIN",
        "username": user,
        "password": Secret(password),
        "source": "the test",
    }
    return Settings(**{"bootstrap": kafka.bootstrap, **given, **changes})  # type: ignore[arg-type]


def admin_client(settings: Settings) -> AdminClient:
    """librdkafka's client of these settings, which writes nothing to stderr."""
    config = transactions.config(settings) | {"error_cb": lambda error: None}
    return AdminClient(config, logger=logging.getLogger("kadmin_nb.librdkafka"))


def logs_in(settings: Settings) -> bool:
    """True if the broker lets us in."""
    try:
        LiveKafka(settings).close()
    except (AuthenticationFailed, ConnectionFailed):
        return False
    return True
