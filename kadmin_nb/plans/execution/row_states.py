"""From what was answered and what was seen to what became of a row. Pure; it never claims what nobody saw."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...model.changes import FAILED, SKIPPED, UNCHANGED, UNKNOWN, UNVERIFIED, VERIFIED, Change, Outcome, Refusal
from .. import LAG
from ..sending import is_of_the_whole
from .verification import BrokerAgreement, Sightings


@dataclass
class Facts:
    """The facts about the rows of a plan, by number.

    `refused` are the brokers' own words and the errors of lost answers; `answered` is when a row's last answer came,
    on the port's clock; `unknown` were sent, and the quiet period has passed without a sign of them; `halfway` tells
    of rows that were left on their way; `resent` of those that were sent a second time.
    """

    answered: dict[int, float] = field(default_factory=dict)
    refused: dict[int, Refusal] = field(default_factory=dict)
    skipped: dict[int, Refusal] = field(default_factory=dict)
    resent: dict[int, str] = field(default_factory=dict)
    halfway: dict[int, str] = field(default_factory=dict)
    landed: set[int] = field(default_factory=set)
    unknown: set[int] = field(default_factory=set)
    sightings: Sightings = field(default_factory=dict)


def outcome(change: Change, facts: Facts) -> Outcome:
    """The outcome of this row."""
    row = change.row
    if row in facts.halfway:
        return Outcome(change, UNVERIFIED, "INCOMPLETE", facts.halfway[row])
    if row in facts.skipped:
        why = facts.skipped[row]
        return Outcome(change, SKIPPED, why.code, why.message)
    if row in facts.sightings:
        return _seen(change, facts, facts.sightings[row])
    if row in facts.refused:
        why = facts.refused[row]
        return Outcome(change, UNKNOWN if row in facts.unknown else FAILED, why.code, why.message)
    return Outcome(change, UNCHANGED)


def checked(change: Change, sighting: BrokerAgreement, is_accepted: bool = False) -> Outcome:
    """The same for a row that was only looked at; `is_accepted` says that a broker took it when it was sent."""
    seen = _seen(change, Facts(), sighting)
    if seen.state != VERIFIED or not change.is_again or is_accepted:
        return seen
    return replace(seen, state=UNVERIFIED, message=_NOT_KNOWN)


def _sent_again(change: Change) -> str:
    """What is known of a value that was the same before, and was accepted."""
    if not change.resource.reloads(change.key):
        return "accepted; the value was the same before"
    return (
        "accepted; the answer does not say whether the broker could read its store: openssl s_client shows the "
        "certificate that it serves"
    )


_NOT_KNOWN = "the value is there, as it was before; no journal here says that it was sent again"


def _seen(change: Change, facts: Facts, sighting: BrokerAgreement) -> Outcome:
    state, refused = _state(change.row, facts, sighting), facts.refused.get(change.row)
    is_settled = state == VERIFIED and change.row in facts.landed
    return Outcome(
        change,
        state,
        error=None if refused is None or is_settled else refused.code,
        message="; ".join(_messages(change, facts, sighting, state)) or None,
        brokers_agreeing=len(sighting.seen & sighting.expected),
        brokers=len(sighting.expected),
        lag_ms=None if change.is_again else _lag(facts.answered.get(change.row), sighting),
    )


def _state(row: int, facts: Facts, sighting: BrokerAgreement) -> str:
    """The state of a row that was looked for; an error and what brokers show are both told."""
    if sighting.is_complete:
        return VERIFIED
    if row in facts.unknown:
        return UNKNOWN
    if row in facts.refused and row not in facts.landed and not sighting.has_landed:
        return FAILED if _is_denied(row, facts, sighting) else UNVERIFIED
    return UNVERIFIED


def _is_denied(row: int, facts: Facts, sighting: BrokerAgreement) -> bool:
    """True if a broker does not hold it that had the time to learn of it, or the request was refused as a whole."""
    asked_late = sighting.denied_at is not None and sighting.denied_at >= facts.answered[row] + LAG
    return asked_late or is_of_the_whole(facts.refused[row].code)


def _messages(change: Change, facts: Facts, sighting: BrokerAgreement, state: str) -> list[str]:
    row = change.row
    refused, messages = facts.refused.get(row), [_sent_again(change)] if state == VERIFIED and change.is_again else []
    if refused is not None and row in facts.landed:
        messages.append(f"its answer was lost ({refused.code}), and it was made")
    elif refused is not None and sighting.has_landed:
        messages.append(f"the broker answered {refused}, and yet it was made")
    elif refused is not None and refused.message:
        messages.append(refused.message)
    if row in facts.resent:
        messages.append(f"sent again after {facts.resent[row]}")
    if state in (UNVERIFIED, UNKNOWN):
        messages.append(sighting.missing())
    return messages


def _lag(answered: float | None, sighting: BrokerAgreement) -> int | None:
    if sighting.at is None or answered is None:
        return None
    return max(0, round((sighting.at - answered) * 1000))
