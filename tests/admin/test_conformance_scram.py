"""The port of SCRAM credentials does what KIP-554 says, on every version of Kafka that we promise to speak to."""

from __future__ import annotations

from kadmin_nb.admin.ports import CredentialChange
from kadmin_nb.frames import schemas
from kadmin_nb.model.scram import ScramUser
from kadmin_nb.secrets import Secret
from tests.waiting import eventually

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"


def credential(mechanism: str = SHA_512, iterations: int = 4096) -> CredentialChange:
    return CredentialChange(mechanism, Secret("a password"), iterations)


def seen(broker, *users: ScramUser) -> list[tuple[object, ...]]:
    rows = broker.scram.describe(users).to_pylist()
    return [(row["user"], row["mechanism"], row["iterations"], row["error"]) for row in rows]


def test_a_credential_shows_its_iterations_and_nothing_else(broker, unique):
    """I could not see whether alice has a login."""
    alice, bob = ScramUser(unique("alice")), ScramUser(unique("bob"))
    assert broker.scram.alter({alice: credential(), bob: credential(SHA_256, 8192)}) == {alice: None, bob: None}
    both = [(alice.name, SHA_512, 4096, None), (bob.name, SHA_256, 8192, None)]
    eventually(lambda: seen(broker, bob, alice), both)
    assert broker.scram.describe([alice]).schema == schemas.SCRAM.schema
    assert [row for row in seen(broker) if row[0] in (alice.name, bob.name)] == both
    assert broker.scram.alter({alice: credential(SHA_256)}) == {alice: None}
    eventually(lambda: [row[1] for row in seen(broker, alice)], [SHA_256, SHA_512])


def test_a_user_without_any_is_told_apart_from_an_empty_answer(broker, unique):
    """A name that I had misspelt looked like a user who never logs in."""
    nobody = ScramUser(unique("nobody"))
    assert seen(broker, nobody) == [(nobody.name, None, None, "RESOURCE_NOT_FOUND")]


def test_one_that_is_deleted_is_gone(broker, unique):
    """The leaver's credential was still there."""
    alice = ScramUser(unique("alice"))
    broker.scram.alter({alice: credential()})
    eventually(lambda: seen(broker, alice), [(alice.name, SHA_512, 4096, None)])
    assert broker.scram.alter({alice: CredentialChange(SHA_512)}) == {alice: None}
    eventually(lambda: seen(broker, alice), [(alice.name, None, None, "RESOURCE_NOT_FOUND")])
    again = broker.scram.alter({alice: CredentialChange(SHA_512)})
    assert again[alice].code == "RESOURCE_NOT_FOUND"


def test_one_that_is_refused_does_not_hold_up_the_others(broker, unique):
    """One user's iterations were wrong, and nobody got a login."""
    low, high, none, good = (ScramUser(unique(name)) for name in ("low", "high", "none", "good"))
    wishes = {low: credential(iterations=4095), high: credential(iterations=16385), none: credential("SCRAM-SHA-1")}
    answers = broker.scram.alter({**wishes, good: credential(iterations=16384)})
    assert [(answers[user].code, answers[user].message) for user in wishes] == [
        ("UNACCEPTABLE_CREDENTIAL", "Too few iterations"),
        ("UNACCEPTABLE_CREDENTIAL", "Too many iterations"),
        ("UNSUPPORTED_SASL_MECHANISM", "Unknown SCRAM mechanism"),
    ]
    assert answers[good] is None


def test_nothing_is_sent_to_be_validated(broker, unique):
    """A validation gave alice a password: Kafka has no validate-only for credentials."""
    alice = ScramUser(unique("alice"))
    assert broker.scram.alter({alice: credential()}, validate_only=True) == {alice: None}
    assert seen(broker, alice) == [(alice.name, None, None, "RESOURCE_NOT_FOUND")]
