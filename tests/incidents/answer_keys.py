"""The answers that are to be found: cause, culprit and the smallest change. Names and values are drawn at each run.

`{user}`, `{client_id}` and the other words in braces are drawn. `{limit}` is what bites, in the unit of its key,
`{twice}` is twice as much. An empty change says that no change of ours lifts it.
"""

from __future__ import annotations

from typing import NamedTuple


class AnswerKey(NamedTuple):
    """One brake: the code of its cause, who or what causes it, the line that lifts it; its state where that matters."""

    cause: str
    culprit: str
    change: str = ""
    state: str = ""

    def of(self, drawn: dict[str, str]) -> AnswerKey:
        """The key with the names and values that were drawn."""
        return AnswerKey(*(text.format_map(drawn) for text in self))


_CLIENT = "user={user} 'client-id={client_id}'"
_RATE = "producer_byte_rate"

OWN = AnswerKey("client-quota", _CLIENT, f"quota set {_RATE}={{twice}} {_CLIENT}")

KEYS: dict[str, tuple[AnswerKey, ...]] = {
    "a share group": (
        AnswerKey("client-quota", "'client-id={client_id}'", f"quota set consumer_byte_rate={{twice}} {_CLIENT}"),
    ),
    "a request quota": (AnswerKey("request-quota", _CLIENT, f"quota set request_percentage={{twice}} {_CLIENT}"),),
    "a replication throttle left behind": (
        AnswerKey(
            "replication-throttle",
            "topic={topic}",
            "config reset follower.replication.throttled.replicas topic={topic}",
        ),
    ),
    "a bucket shared with a noisy neighbour": (
        AnswerKey("shared-bucket", "user={user} client-id={neighbour}", f"quota set {_RATE}={{limit}} {_CLIENT}"),
    ),
    "a stale override": (OWN,),
    "a custom callback": (AnswerKey("quota-callback", "broker=1"),),
    "two brakes at once": (
        AnswerKey("client-quota", _CLIENT, f"quota set {_RATE}={{twice_written}} {_CLIENT}"),
        AnswerKey("request-quota", "user={user}", f"quota set request_percentage={{twice}} {_CLIENT}"),
    ),
    "throttled yesterday, raised since": (AnswerKey("earlier-limit", _CLIENT, state="not known"),),
    "a client that nobody saw": (AnswerKey("unseen", "user={user} 'client-id={typed}'", state="not known"),),
    "two keys at 100 %": (
        OWN,
        AnswerKey("client-quota", _CLIENT, f"quota set consumer_byte_rate={{twice_read}} {_CLIENT}"),
    ),
    "none at all": (),
}
"""The incidents, two brakes at once, and none. Of two the client writes at a limit of its own, and asks too often; of
two keys it writes and reads at a limit."""
