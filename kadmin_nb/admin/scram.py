"""SCRAM credentials on the wire (KIP-554, APIs 50 and 51).

Over kafka-python's messages only: confluent-kafka's describe ends the Python process when DESCRIBE on the
cluster is missing, and a describe with null users is never answered (broker-facts 0).
"""

from __future__ import annotations

import os
from hashlib import pbkdf2_hmac
from typing import Any

from kafka.protocol.admin.users import AlterUserScramCredentialsRequest

from ..model import rights
from ..secrets import Secret
from . import error_codes
from .wire import Wire

MECHANISMS = {"SCRAM-SHA-256": (1, "sha256"), "SCRAM-SHA-512": (2, "sha512")}


class WireScram:
    """Upserts of SCRAM users over a connection."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def upsert(self, user: str, password: Secret, mechanism: str = "SCRAM-SHA-512", iterations: int = 4096) -> None:
        """Give `user` this password.

        Raises
        ------
        NotAuthorized
            ALTER on the cluster is missing.
        """
        number, digest = MECHANISMS[mechanism]
        salt = os.urandom(24)
        salted = pbkdf2_hmac(digest, password.reveal().encode(), salt, iterations)
        upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
            name=user, mechanism=number, iterations=iterations, salt=salt, salted_password=salted
        )
        request: Any = AlterUserScramCredentialsRequest(deletions=[], upsertions=[upsertion])
        for result in self._wire.tell(lambda: request, doing="altering SCRAM users").results:
            doing = f"altering the SCRAM user {user}"
            error_codes.raise_for_error(result.error_code, result.error_message, doing, rights.on_cluster("ALTER"))
