"""`doctor` about dynamic client configs: their topics, and who may write entries."""

from __future__ import annotations

from collections.abc import Iterator

from ..admin.kafka import WireKafka
from ..errors import KadminError
from ..hints import terminal
from ..model.checks import Check, CheckState
from ..model.connection_settings import Settings
from .nouns import CONFIGS_TOPIC
from .setup import NO_AUTHORIZER, Setup
from .topics import TopicShape

_CHECK = "client configs"
_MAKE = "kadmin-nb client-configs init shows what is missing; with --apply it makes it."


def checks(kafka: WireKafka, settings: Settings) -> Iterator[Check]:
    """The checks of the three topics, and of the ACLs of the one with the entries; one where there is no topic."""
    admin = settings.principal
    try:
        setup = Setup.of(kafka, admin, ())
    except KadminError as error:
        error.syntax = terminal
        yield Check(_CHECK, "its topics", CheckState.WARNING, str(error), error.hint)
        return
    if len(setup.missing_topics) == len(setup.topics):
        yield Check(_CHECK, "its topics", CheckState.ABSENT, "not set up: no client follows any", _MAKE)
        return
    for name, shape in setup.topics.items():
        yield _topic_check(setup, name, shape)
    if setup.topics[CONFIGS_TOPIC]:
        yield _writers_check(setup, admin)


def _topic_check(setup: Setup, name: str, shape: TopicShape | None) -> Check:
    if shape is None:
        return Check(_CHECK, name, CheckState.WARNING, "the topic is missing", _MAKE)
    if not (differences := setup.differences(name)):
        return Check(_CHECK, name, CheckState.OK, f"compacted, {shape.replicas} replicas")
    state = CheckState.WARNING if shape.is_compacted else CheckState.FAILED
    mend = f"kadmin-nb config set KEY=VALUE topic={name} changes its configs."
    return Check(_CHECK, name, state, "; ".join(differences), mend)


def _writers_check(setup: Setup, admin: str | None) -> Check:
    subject = "who may write entries"
    if setup.acls is None:
        return Check(_CHECK, subject, CheckState.OK, NO_AUTHORIZER.rstrip("."))
    if not setup.is_guarded:
        note = "no ACL is about it: with allow.everyone.if.no.acl.found=true anybody may write it"
        return Check(_CHECK, subject, CheckState.WARNING, note, _MAKE)
    if others := setup.other_writers(admin):
        note = f"ACLs let these write too: {', '.join(others)}"
        mend = "Whoever writes there sets acks=0 for any application: remove the ACL unless it is meant."
        return Check(_CHECK, subject, CheckState.WARNING, note, mend)
    return Check(_CHECK, subject, CheckState.OK, "no ACL but ours, and super users")
