"""The answers that are to be found: cause, culprit and the smallest change. Names and values are drawn at each run.

`{user}`, `{client_id}` and the other words in braces are drawn. `{limit}` is what bites, in the unit of its key,
`{twice}` is twice as much, `{wanted}` what somebody meant the client to have, `{all}` the limit of all brokers
together. An empty change says that no change of ours lifts it.
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

STALE = AnswerKey("stale-override", _CLIENT, f"quota remove {_RATE} {_CLIENT}")
SHADOW = AnswerKey("shadowing-default", "user=<default>", f"quota set {_RATE}={{wanted}} {_CLIENT}")

KEYS: dict[str, tuple[AnswerKey, ...]] = {
    "a share group": (
        AnswerKey("share-group", "'client-id={client_id}'", f"quota set consumer_byte_rate={{twice}} {_CLIENT}"),
    ),
    "all leaders on one broker": (AnswerKey("leaders", "broker={broker}", f"quota set {_RATE}={{all}} {_CLIENT}"),),
    "a default that shadows": (SHADOW,),
    "a blank client-id": (AnswerKey("blank-client-id", "user={user}", f"quota set {_RATE}={{wanted}} user={{user}}"),),
    "a request quota": (AnswerKey("request-quota", _CLIENT, f"quota set request_percentage={{twice}} {_CLIENT}"),),
    "a replication throttle left behind": (
        AnswerKey(
            "replication-throttle",
            "topic={topic}",
            "config reset follower.replication.throttled.replicas topic={topic}",
        ),
    ),
    "too few replicas in sync": (AnswerKey("few-in-sync", "broker={broker}"),),
    "a connection limit": (
        AnswerKey("connection-limit", "ip=127.0.0.1", "quota set connection_creation_rate={twice} ip=127.0.0.1"),
    ),
    "a bucket shared with a noisy neighbour": (
        AnswerKey("shared-bucket", "user={user} client-id={neighbour}", f"quota set {_RATE}={{limit}} {_CLIENT}"),
    ),
    "a stale override": (STALE,),
    "a custom callback": (AnswerKey("quota-callback", "broker=1"),),
    "a tiered-storage brake": (
        AnswerKey(
            "tiered-storage",
            "broker=<default>",
            "config reset remote.log.manager.copy.max.bytes.per.second broker=<default>",
        ),
    ),
    "a dynamic client config": (AnswerKey("client-config", _CLIENT, f"config reset acks {_CLIENT}"),),
    "a full request queue": (
        AnswerKey("request-queue", "broker={broker}", "config set num.io.threads=2 broker={broker}"),
    ),
    "few locks of a share group": (
        AnswerKey("share-locks", "group={group}", "config reset share.partition.max.record.locks group={group}"),
    ),
    "two brakes at once": (
        STALE,
        AnswerKey("request-quota", "user={user}", f"quota set request_percentage={{twice}} {_CLIENT}"),
    ),
    "an idle client": (AnswerKey("idle", _CLIENT, state="stands"),),
    "a client without a client-id that no client-id quota reaches": (
        AnswerKey("unreached-quota", "user={user} client-id=<default>", state="stands"),
    ),
    "a slow follower": (AnswerKey("slow-follower", "broker={broker}"),),
    "a broker that differs from its peers": (
        AnswerKey("unlike-peers", "broker={broker}", "config reset num.network.threads broker={broker}"),
    ),
    "throttled yesterday, raised since": (AnswerKey("earlier-limit", _CLIENT, state="not known"),),
    "a limit raised in the middle": (AnswerKey("earlier-limit", _CLIENT, state="stands"),),
    "a client that nobody saw": (AnswerKey("unseen", "user={user} 'client-id={typed}'", state="not known"),),
    "a broker killed": (AnswerKey("no-leader", "broker={broker}"),),
    "two keys at 100 %": (
        STALE,
        AnswerKey("client-quota", _CLIENT, f"quota set consumer_byte_rate={{twice_read}} {_CLIENT}"),
    ),
    "none at all": (),
}
"""The incidents, two brakes at once, and none. Of two the client writes at a stale limit, and asks too often; of two
keys it writes and reads at a limit."""
