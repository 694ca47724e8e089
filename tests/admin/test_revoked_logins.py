"""A login that is revoked while a notebook holds a connection: the next call says so in one line."""

from __future__ import annotations

import contextlib

import pytest

from kadmin_nb.admin.ports import CredentialChange
from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.errors import AuthenticationFailed
from kadmin_nb.model.scram import ScramUser
from tests.admin.idle_connections import idle_out
from tests.admin.logins import logs_in
from tests.waiting import eventually


@pytest.mark.secure
def test_a_user_that_was_deleted(admin, scram_user, unique):
    """`socket disconnected`, for a user that the security team had removed at noon."""
    user = ScramUser(unique("leaver"))
    settings = scram_user(user.name)
    with contextlib.closing(LiveKafka(settings)) as kafka:
        admin.scram.alter({user: CredentialChange("SCRAM-SHA-512")})
        eventually(lambda: logs_in(settings), False)
        idle_out(kafka)
        with pytest.raises(AuthenticationFailed) as caught:
            kafka.brokers()
    assert "invalid credentials" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "has it been revoked or changed? Connect again." in caught.value.hint
