"""`doctor` about dynamic client configs: their topics, and who may write entries."""

from __future__ import annotations

from collections.abc import Iterator

from ..admin.client_topics import TopicShape
from ..admin.kafka import WireKafka
from ..errors import KadminError
from ..hints import terminal
from ..model.client_config_records import CONFIGS_TOPIC
from ..model.connection_settings import Settings
from ..model.findings import ABSENT, FAILED, OK, WARNING, Finding
from .client_config_setup import NO_AUTHORIZER, Setup
from .identity import principal_of

_CHECK = "client configs"
_MAKE = "kadmin-nb client-configs init shows what is missing; with --apply it makes it."


def checks(kafka: WireKafka, settings: Settings) -> Iterator[Finding]:
    """The checks of the three topics, and of the ACLs of the one with the entries; one where there is no topic."""
    admin = principal_of(settings)
    try:
        setup = Setup.of(kafka, admin, ())
    except KadminError as error:
        error.syntax = terminal
        yield Finding(_CHECK, WARNING, str(error), "its topics", mend=error.hint)
        return
    if len(setup.missing_topics) == len(setup.topics):
        yield Finding(_CHECK, ABSENT, "not set up: no client follows any", "its topics", mend=_MAKE)
        return
    for name, shape in setup.topics.items():
        yield _topic_check(setup, name, shape)
    if setup.topics[CONFIGS_TOPIC]:
        yield _writers_check(setup, admin)


def _topic_check(setup: Setup, name: str, shape: TopicShape | None) -> Finding:
    if shape is None:
        return Finding(_CHECK, WARNING, "the topic is missing", name, mend=_MAKE)
    if not (differences := setup.differences(name)):
        return Finding(_CHECK, OK, f"compacted, {shape.replicas} replicas", name)
    state = WARNING if shape.is_compacted else FAILED
    mend = f"kadmin-nb config set KEY=VALUE topic={name} changes its configs."
    return Finding(_CHECK, state, "; ".join(differences), name, mend=mend)


def _writers_check(setup: Setup, admin: str | None) -> Finding:
    subject = "who may write entries"
    if setup.acls is None:
        return Finding(_CHECK, OK, NO_AUTHORIZER.rstrip("."), subject)
    if not setup.is_guarded:
        note = "no ACL is about it: with allow.everyone.if.no.acl.found=true anybody may write it"
        return Finding(_CHECK, WARNING, note, subject, mend=_MAKE)
    if others := setup.other_writers(admin):
        note = f"ACLs let these write too: {', '.join(others)}"
        mend = "Whoever writes there sets acks=0 for any application: remove the ACL unless it is meant."
        return Finding(_CHECK, WARNING, note, subject, mend=mend)
    return Finding(_CHECK, OK, "no ACL but ours, and super users", subject)
