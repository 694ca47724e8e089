"""Rights that go while a plan is carried out: it stops, says so, and goes on when they are back."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

import kadmin_nb as kn
from kadmin_nb.local import LocalKafka
from kadmin_nb.plans.journal.store import journals
from kadmin_nb.plans.plan import Plan
from tests.admin.logins import admin_client
from tests.persons import give_password
from tests.plans.plan_rows import rows
from tests.waiting import eventually

pytestmark = pytest.mark.secure

DENIED = "CLUSTER_AUTHORIZATION_FAILED"


class Rights:
    """A user's rights on the cluster, which the super user gives and takes, and waits until they are so."""

    def __init__(self, java: AdminClient, cluster: kn.Cluster, user: str) -> None:
        self._java, self._cluster, self._user = java, cluster, user

    def give(self, operation: AclOperation = AclOperation.ALTER_CONFIGS) -> None:
        for future in self._java.create_acls([AclBinding(*self._of(operation))]).values():
            future.result()
        if operation == AclOperation.ALTER_CONFIGS:
            eventually(self._may_alter, True)

    def take(self) -> None:
        for future in self._java.delete_acls([AclBindingFilter(*self._of(AclOperation.ALTER_CONFIGS))]).values():
            future.result()
        eventually(self._may_alter, False)

    def _of(self, operation: AclOperation) -> tuple[object, ...]:
        literal = ResourcePatternType.LITERAL
        return (
            *(ResourceType.BROKER, "kafka-cluster", literal, f"User:{self._user}", "*"),
            *(operation, AclPermissionType.ALLOW),
        )

    def _may_alter(self) -> bool:
        """As the broker's validation says."""
        stage = self._cluster.new_stage()
        stage.set_quota("request_percentage", 50, user=self._user)
        with contextlib.suppress(kn.NotAuthorized):
            return rows(stage.plan(), "validated") == [("ok",)]
        return False


@pytest.fixture
def user(unique) -> str:
    return unique("editor")


@pytest.fixture
def editing(secure_kafka: LocalKafka, user: str) -> Iterator[kn.Cluster]:
    """A connection of a user without rights."""
    with secure_kafka.connect() as admin:
        give_password(admin.port, user, password := secrets.token_urlsafe())
    secure_kafka.remember_login(user, password)
    eventually(lambda: _reaches(secure_kafka, user), True)
    with secure_kafka.connect(user) as connected:
        yield connected


def _reaches(kafka: LocalKafka, user: str) -> bool:
    with contextlib.suppress(kn.errors.AuthenticationFailed):
        kafka.connect(user).close()
        return True
    return False


@pytest.fixture
def rights(secure_kafka: LocalKafka, editing: kn.Cluster, user: str) -> Rights:
    with secure_kafka.connect() as admin:
        java = admin_client(admin.settings)
    rights = Rights(java, editing, user)
    rights.give(AclOperation.DESCRIBE_CONFIGS)
    rights.give()
    return rights


def of_five_requests(cluster: kn.Cluster, unique) -> Plan:
    """Each of its levels is a request."""
    stage, user, client = cluster.new_stage(), unique("user"), unique("client")
    for whom in ({"user": user, "client_id": client}, {"user": user, "client_id": kn.DEFAULT}, {"user": user},
                 {"user": kn.DEFAULT, "client_id": client}, {"client_id": client}):  # fmt: skip
        stage.set_quota("producer_byte_rate", 1000, **whom)
    return stage.plan()


def test_rights_that_go_between_two_requests(editing, rights, unique, monkeypatch):
    """The right was taken away half-way, the rest failed one by one, and nobody knew how to go on."""
    plan, wire, sent = of_five_requests(editing, unique), editing.port.wire, []
    real = wire.tell

    def tell(request, **options):
        if options["doing"].startswith("altering"):
            sent.append(options["doing"])
            if len(sent) == 3:
                monkeypatch.undo()  # asking whether the right is gone is not a request of the plan
                rights.take()
        return real(request, **options)

    monkeypatch.setattr(wire, "tell", tell)
    outcomes = editing.apply(plan, quiet_period=5.0)
    assert rows(outcomes, "state", "error") == [
        ("verified", None),
        ("verified", None),
        ("failed", DENIED),
        ("skipped", DENIED),
        ("skipped", DENIED),
    ]
    state = journals().find(plan.id).state
    assert (state.verified, state.in_doubt, state.unsettled) == ({1, 2}, set(), set())
    with pytest.raises(kn.PartlyFailed):
        outcomes.raise_for_errors()

    with contextlib.suppress(kn.PlanRefused):  # by the validation, where the last is older than ten seconds
        still = editing.apply(plan.id)
        assert rows(still, "state") == [("unchanged",)] * 2 + [("failed",)] + [("skipped",)] * 2
    rights.give()
    resumed = editing.apply(plan.id)
    assert rows(resumed, "state") == [("unchanged",)] * 2 + [("verified",)] * 3
    assert journals().find(plan.id).state.verified == {1, 2, 3, 4, 5}
    assert rows(editing.rollback(plan.id).apply(), "state") == [("verified",)] * 5
