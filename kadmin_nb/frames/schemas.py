"""Every frame's columns and Arrow types, once.

All frames may lead with `cluster_id`. Answers carry `kadmin.cluster_id` and `kadmin.taken_at`
(ISO 8601, UTC) in their schema metadata. The same columns and types hold for zero rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from ..errors import UsageError
from .arrays import array_of

TEXT, NUMBER, FLAG, WHOLE = pa.string(), pa.float64(), pa.bool_(), pa.int32()
WORD = pa.dictionary(pa.int32(), pa.string())
"""Strings from a small set, dictionary-encoded in Arrow; plain strings in Spark."""


def _schema(*columns: tuple[str, pa.DataType, bool]) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable) for name, kind, nullable in columns])


QUOTAS = _schema(
    ("entity", TEXT, False),
    ("level", WORD, False),
    ("user", TEXT, True),
    ("client_id", TEXT, True),
    ("ip", TEXT, True),
    ("key", WORD, False),
    ("value", NUMBER, False),
)
"""One row an entity and key, sorted by both. `user` is null both for default and for absent: `level` tells."""

PAIRS = _schema(("user", TEXT, False), ("client_id", TEXT, True))
"""Clients to resolve. A null client-id counts as empty."""

OVERRIDDEN = pa.list_(pa.struct([pa.field("level", TEXT, False), pa.field("value", NUMBER, False)]))

EFFECTIVE = _schema(
    ("user", TEXT, False),
    ("client_id", TEXT, False),
    ("key", WORD, False),
    ("value", NUMBER, True),
    ("level", WORD, True),
    ("bucket_user", WORD, True),
    ("bucket_client_id", WORD, True),
)
"""The effective quota of each client and key. A null value, level and bucket mean unlimited; "" in a bucket means that
the part is not in it. A null user or client-id stands for each that no quota names, as does null in its bucket."""

EFFECTIVE_IP = _schema(("ip", TEXT, False), ("key", WORD, False), ("value", NUMBER, True), ("level", WORD, True))
"""The effective connection quota of each address."""

SYNONYMS = pa.list_(
    pa.struct([pa.field("source", TEXT, False), pa.field("key", TEXT, False), pa.field("value", TEXT, True)])
)

CONFIGS = _schema(
    ("resource_type", WORD, False),
    ("resource_name", TEXT, False),
    ("key", TEXT, True),
    ("value", TEXT, True),
    ("source", WORD, True),
    ("is_sensitive", FLAG, True),
    ("is_read_only", FLAG, True),
    ("is_default", FLAG, True),
    ("type", WORD, True),
    ("synonyms", SYNONYMS, True),
    ("documentation", TEXT, True),
    ("error", TEXT, True),
    ("message", TEXT, True),
)
"""One row a resource and key; a resource that failed is one row with a null key and its error."""

SCRAM = _schema(
    ("user", TEXT, False),
    ("mechanism", WORD, True),
    ("iterations", WHOLE, True),
    ("error", TEXT, True),
    ("message", TEXT, True),
)
"""One row a user and mechanism, sorted by both: all that brokers show of a credential. A user that failed, or has none
(RESOURCE_NOT_FOUND), is one row with a null mechanism."""

REGISTRATIONS = _schema(
    ("user", TEXT, False),
    ("client_id", TEXT, False),
    ("software", TEXT, False),
    ("version", TEXT, False),
    ("instance", TEXT, False),
    ("group_id", TEXT, True),
    ("group_protocol", TEXT, True),
    ("keys", pa.list_(TEXT), False),
    ("seen_at", pa.timestamp("us", "UTC"), False),
)
"""The clients that follow dynamic client configs and are alive, as they call themselves; `keys` are those that they
support, `seen_at` is the broker's time."""

STATUS = _schema(
    ("user", TEXT, False),
    ("client_id", TEXT, False),
    ("instance", TEXT, False),
    ("revision", pa.int64(), True),
    ("key", WORD, True),
    ("value", TEXT, True),
    ("state", WORD, False),
    ("reason", TEXT, True),
    ("at", pa.timestamp("us", "UTC"), True),
)
"""The values that each client that is alive says it runs with. `state` is follows; refuses, with a reason; static, with
a null key: no entry is about it; or silent: it never said. `at` is the broker's time of its last word; it repeats
the same one each day."""

COMPATIBILITY = _schema(
    ("user", TEXT, False),
    ("client_id", TEXT, True),
    ("software", TEXT, False),
    ("version", TEXT, False),
    ("keys", pa.list_(TEXT), False),
    ("clients", pa.int64(), False),
)
"""KIP-649's EntityCompatibility: each software and version that registered under an entity, and all keys that it
supports there. A null client-id is all client-ids of the user."""

FOLLOWERS = _schema(
    ("user", TEXT, False),
    ("client_id", TEXT, False),
    ("software", TEXT, True),
    ("version", TEXT, True),
    ("instance", TEXT, True),
    ("key", WORD, False),
    ("follows", FLAG, False),
    ("reason", TEXT, True),
)
"""The known clients: whether each `follows` a new value of the key, or the reason that it does not. One that is only
seen in usage has no software, version or instance."""

CLIENT_CONFIGS = _schema(
    ("entity", TEXT, False),
    ("user", TEXT, False),
    ("client_id", TEXT, True),
    ("key", WORD, False),
    ("value", TEXT, False),
    ("revision", pa.int64(), False),
    ("author", TEXT, False),
    ("plan_id", TEXT, False),
    ("changed_at", pa.timestamp("us", "UTC"), False),
)
"""One row an entity and key of dynamic client configs (KIP-649), sorted by user, client-id and key. A null client-id is
the user's own entry. `revision` is the offset of its record, `changed_at` the broker's time."""

PASSED_OVER, TOPIC_MISSING = "kadmin.passed_over", "kadmin.topic_missing"
"""Metadata of CLIENT_CONFIGS: how many records cannot be read, and the topic's name where it is not there."""

EFFECTIVE_CLIENT_CONFIGS = _schema(
    ("user", TEXT, False),
    ("client_id", TEXT, False),
    ("key", WORD, False),
    ("value", TEXT, False),
    ("entity", TEXT, False),
    ("revision", pa.int64(), False),
    ("overridden", TEXT, True),
)
"""One row a key that is set for a client: the value that holds, the entity that it is set on, and the user's own value
where the client-id's overrides it."""

CLIENT_CONFIG_SETUP = _schema(
    ("subject", TEXT, False),
    ("state", WORD, False),
    ("note", TEXT, True),
)
"""The topics and rights that dynamic client configs need: each is there, missing, made, or, of a topic that somebody
else made, differs, with the settings that do."""

USER_CONFIGS = _schema(
    ("resource", TEXT, False),
    ("kind", TEXT, False),
    ("key", TEXT, True),
    ("value", TEXT, True),
    ("error", TEXT, True),
    ("message", TEXT, True),
)
"""All that is set on users: quotas, client configs, and credentials with their iterations. Of the kind `supported` are
the versions of software that follow client configs there, and the keys that they follow. What may not be seen is a row
with an error."""

USERS = _schema(
    ("user", TEXT, False),
    ("mechanisms", TEXT, True),
    ("quotas", pa.int64(), True),
    ("quota_keys", pa.list_(pa.struct([("level", TEXT), ("key", TEXT), ("quotas", pa.int64())])), True),
    ("acls", pa.int64(), True),
    ("used", FLAG, True),
    ("first_used", pa.timestamp("us", "UTC"), True),
    ("last_used", pa.timestamp("us", "UTC"), True),
    ("finding", WORD, True),
)
"""One row a user that quotas, SCRAM credentials, ACLs or USAGE name: the mechanisms of the credentials, the number of
quotas with their keys at each level, the number of ACLs, whether the usage names the user, and the beginning of its
first and the end of its last window. What may not be read, does not exist or was not given is null. `finding`:
orphaned-quotas, orphaned-acls or orphaned-credentials where nothing else names the user; no-quotas where the usage
names a user that no quota names."""

PLAN = _schema(
    ("row", WHOLE, False),
    ("kind", TEXT, False),
    ("op", TEXT, False),
    ("resource", TEXT, False),
    ("key", TEXT, False),
    ("old", TEXT, True),
    ("wanted", TEXT, True),
    ("after", TEXT, True),
    ("old_known", FLAG, False),
    ("level", TEXT, True),
    ("validated", TEXT, False),
    ("note", TEXT, True),
)
"""One row a change, before and after. `validated` is "ok", the broker's error, or "not possible"."""

OUTCOMES = pa.schema(
    [
        *PLAN,
        *_schema(
            ("state", TEXT, False),
            ("error", TEXT, True),
            ("message", TEXT, True),
            ("brokers_agreeing", WHOLE, True),
            ("brokers", WHOLE, True),
            ("lag_ms", WHOLE, True),
        ),
    ]
)
"""PLAN plus what became of each row. `brokers_agreeing` of `brokers` hold it, null where none was asked afterwards."""

REQUESTS = _schema(
    ("time", pa.timestamp("us", "UTC"), False),
    ("broker", WHOLE, False),
    ("listener", TEXT, True),
    ("user", TEXT, False),
    ("client_id", TEXT, False),
    ("api", TEXT, False),
    ("bytes_in", pa.int64(), True),
    ("bytes_out", pa.int64(), True),
    ("io_ms", NUMBER, True),
    ("total_ms", NUMBER, True),
    ("throttle_ms", NUMBER, True),
    ("software_name", TEXT, True),
    ("software_version", TEXT, True),
    ("connection", TEXT, False),
    ("correlation_id", WHOLE, False),
)
"""One row a request that a broker has answered. `bytes_in` are the record bytes of a PRODUCE, `bytes_out` those that a
FETCH was answered with, null for every other API, and where the log does not tell; `io_ms` is I/O-thread time.
"""

LOG_LINES = _schema(("became", TEXT, False), ("reason", TEXT, True), ("lines", pa.int64(), False))
"""The lines of a request log, counted by fate: a request, a duplicate, left out, or quarantined; and why."""

METRICS = _schema(
    ("time", pa.timestamp("us", "UTC"), False),
    ("broker", WHOLE, False),
    ("type", TEXT, False),
    ("user", TEXT, True),
    ("client_id", TEXT, True),
    ("name", TEXT, False),
    ("value", NUMBER, False),
)
"""Samples of `kafka.server:type=…,user=…,client-id=…`: `type` is Produce, Fetch or Request, `name` byte-rate (bytes/s),
request-time (percent of a thread) or throttle-time (ms); the tags as JMX writes them, null where one is absent.
"""

USAGE = _schema(
    ("broker", WHOLE, False),
    ("user", TEXT, False),
    ("client_id", TEXT, False),
    ("key", WORD, False),
    ("window_start", pa.timestamp("us", "UTC"), False),
    ("window_end", pa.timestamp("us", "UTC"), False),
    ("value", NUMBER, True),
    ("throttle_ms", NUMBER, True),
    ("source", TEXT, False),
)
"""The use of a key by each client on each broker, in the key's unit, over a window of time. A null value is unknown: of
a share consumer a request log tells the throttles, and no bytes."""

OF_BUCKETS = "metrics: the broker's own rate of a bucket"
"""The `source` of a row whose names are a bucket's: who shares one it does not tell."""

MOMENT = pa.timestamp("us", "UTC")
_CLUSTER = _schema(("cluster_id", TEXT, False))
_TAKEN = _schema(("taken_at", MOMENT, False), ("snapshot_id", TEXT, False), ("complete", FLAG, False))

SNAPSHOT_QUOTAS = pa.schema([*_CLUSTER, *QUOTAS, *_TAKEN])
"""SNAPSHOT: the quotas that a cluster held at a time. `complete` is false where something could not be read."""

SNAPSHOT_CONFIGS = pa.schema([*_CLUSTER, *CONFIGS, *_TAKEN])
"""SNAPSHOT: the configs that a cluster held at a time. `complete` is false where something could not be read."""

SNAPSHOTS = _schema(
    ("cluster_id", TEXT, False),
    ("taken_at", MOMENT, False),
    ("snapshot_id", TEXT, False),
    ("kind", TEXT, False),
    ("rows", pa.int64(), False),
    ("unchanged", FLAG, False),
    ("scopes", TEXT, False),
    ("plan_id", TEXT, True),
    ("author", TEXT, True),
)
"""The snapshots of a history, one row a snapshot and kind (`quotas`, `configs`). 0 rows: certainly nothing was set."""

DRIFT = _schema(
    ("kind", TEXT, False),
    ("resource", TEXT, False),
    ("key", TEXT, True),
    ("state", TEXT, False),
    ("a", TEXT, True),
    ("b", TEXT, True),
    ("source_a", TEXT, True),
    ("source_b", TEXT, True),
    ("note", TEXT, True),
    ("is_sensitive", FLAG, False),
)
"""Differences, one row a resource and key. `state` is added (only b has it), removed (only a), changed, source (the
same value from elsewhere), default (set on one side to what is the default on the other, or two defaults), or unknown
(one side could not be read; the key is null). Values as text, as the broker takes them; nobody can see one that
`is_sensitive`."""

DIFF = pa.schema([*_schema(("row", WHOLE, False)), *DRIFT, *_schema(("missing", TEXT, True))])
"""DRIFT with numbers, from 1: what differs first, then what does so by default or by nature only (state `nature`).
`missing` is the side, a or b, that does not have the topic at all."""

DIFF_COUNTS = _schema(("state", TEXT, False), ("quotas", pa.int64(), False), ("configs", pa.int64(), False))
"""The number of rows of each state, those that are not shown included."""

HISTORY_CHANGES = _schema(
    ("cluster_id", TEXT, False),
    ("since", MOMENT, False),
    ("taken_at", MOMENT, False),
    ("snapshot_id", TEXT, False),
    ("plan_id", TEXT, True),
    ("author", TEXT, True),
    ("kind", TEXT, False),
    ("resource", TEXT, False),
    ("key", TEXT, False),
    ("state", TEXT, False),
    ("old", TEXT, True),
    ("new", TEXT, True),
    ("source", TEXT, True),
)
"""Changes between a snapshot (`since`) and the next (`taken_at`): `state` is added, removed or changed."""

FINDINGS = _schema(
    ("finding", TEXT, False),
    ("resource_type", TEXT, False),
    ("resource_name", TEXT, False),
    ("key", TEXT, True),
    ("value", TEXT, True),
    ("source", TEXT, True),
    ("expected", TEXT, True),
    ("expected_source", TEXT, True),
    ("message", TEXT, False),
    ("op", TEXT, True),
    ("mend", TEXT, True),
    ("error", TEXT, True),
)
"""Configs that somebody should look at. `source` is where the value is set, `expected` what holds without it, or
what a broker's peers have; `op` mends it, `set` (to `expected`) or `delete`, and `mend` is the line that does so, both
null where none can. A null key: it could not be read, for the `error` of that name."""

POLICY = _schema(
    ("rule", TEXT, False),
    ("severity", TEXT, False),
    ("state", TEXT, False),
    ("ok", FLAG, True),
    ("resource", TEXT, True),
    ("key", TEXT, True),
    ("value", TEXT, True),
    ("wanted", TEXT, False),
    ("message", TEXT, False),
    ("reason", TEXT, False),
)
"""The state of a policy's rules: a row for each that is, and for each breach. `severity` is refuse or warn; `state` is
kept, broken, unknown (what it is about could not be read; `ok` is null), or, of a plan, as before: broken without it
too, and no worse."""

UTILISATION = _schema(
    ("broker", WHOLE, False),
    ("key", WORD, False),
    ("bucket_user", WORD, True),
    ("bucket_client_id", WORD, True),
    ("user", TEXT, True),
    ("client_id", TEXT, True),
    ("level", WORD, True),
    ("limit", NUMBER, True),
    ("brokers", WHOLE, False),
    ("limit_x_brokers", NUMBER, True),
    ("clients", pa.int64(), True),
    ("windows", pa.int64(), False),
    ("windows_seen", pa.int64(), False),
    ("windows_unknown", pa.int64(), False),
    ("peak", NUMBER, True),
    ("p95", NUMBER, True),
    ("mean", NUMBER, True),
    ("utilisation", NUMBER, True),
    ("headroom", NUMBER, True),
    ("headroom_percent", NUMBER, True),
    ("share_above_80", NUMBER, True),
    ("share_above_100", NUMBER, True),
    ("longest_above_100_s", NUMBER, True),
    ("throttle_ms", NUMBER, True),
    ("share_throttled", NUMBER, True),
)
"""The use of each bucket on each broker beside its limit. Without a limit a row is a client's, named by `user` and
`client_id`, which are null otherwise; `utilisation` is the peak in percent; shares are fractions of `windows`. Of
`windows_unknown` a part of the use is unknown: figures are the least that it can be, null where nothing is known."""

NEAR = _schema(
    ("broker", WHOLE, False),
    ("key", WORD, False),
    ("bucket_user", WORD, False),
    ("bucket_client_id", WORD, False),
    ("level", WORD, False),
    ("limit", NUMBER, False),
    ("windows_unknown", pa.int64(), False),
    ("peak", NUMBER, True),
    ("utilisation", NUMBER, True),
    ("longest_above_100_s", NUMBER, True),
    ("throttle_ms", NUMBER, True),
)
"""The buckets that are near their limit on a broker, over it, or throttled, the worst first: columns of UTILISATION."""

TOP = _schema(
    ("key", WORD, False),
    ("user", TEXT, False),
    ("client_id", TEXT, False),
    ("brokers", WHOLE, False),
    ("mean", NUMBER, True),
    ("share", NUMBER, True),
    ("peak", NUMBER, True),
    ("throttle_ms", NUMBER, True),
)
"""The clients that used most of each key, the most first. `mean` is over the time that was watched, on all brokers
together; `share` is its percentage of what all clients used; `peak` is the most in a window on one broker. Of usage
from metrics the names are a bucket's. Clients whose use is unknown come last, with nulls; there are no shares then."""

STALLS = _schema(
    ("broker", WHOLE, False),
    ("user", TEXT, False),
    ("client_id", TEXT, False),
    ("key", WORD, False),
    ("row", WHOLE, True),
    ("limit_before", NUMBER, True),
    ("limit_after", NUMBER, True),
    ("bucket_user", TEXT, True),
    ("bucket_client_id", TEXT, True),
    ("rate", NUMBER, False),
    ("bucket_rate", NUMBER, False),
    ("stall_s", NUMBER, False),
)
"""The seconds for which a plan throttles each client that it touches. A null limit is unlimited; rates and limits in
bytes/s."""

IMPACT = _schema(
    ("user", TEXT, False),
    ("client_id", TEXT, False),
    ("key", WORD, False),
    ("effect", WORD, False),
    ("sharing", WORD, True),
    ("value_before", NUMBER, True),
    ("value_after", NUMBER, True),
    ("level_before", WORD, True),
    ("level_after", WORD, True),
    ("bucket_user_before", TEXT, True),
    ("bucket_client_id_before", TEXT, True),
    ("bucket_user_after", TEXT, True),
    ("bucket_client_id_after", TEXT, True),
    ("clients_before", pa.int64(), True),
    ("clients_after", pa.int64(), True),
)
"""The clients that a change of quotas touches, a row a client and key. A null value, level and bucket are unlimited;
`sharing` is null where there is no bucket on both sides; `clients_*` are how many of the known clients draw from the
bucket."""

IMPACT_COUNTS = _schema(
    ("key", TEXT, False), ("effect", TEXT, False), ("sharing", TEXT, True), ("clients", pa.int64(), False)
)
"""The number of clients of each effect, `unchanged` ones included."""

SHADOWED = _schema(
    ("entity", TEXT, False), ("key", TEXT, False), ("value", NUMBER, False), ("shadowed_by", TEXT, False)
)
"""The quotas that a change leaves shadowed, those that are new included, and the entity that always comes first."""

BACKTEST = _schema(
    ("broker", WHOLE, False),
    ("key", WORD, False),
    ("bucket_user", TEXT, False),
    ("bucket_client_id", TEXT, False),
    ("level", WORD, False),
    ("limit", NUMBER, False),
    ("clients", pa.int64(), False),
    ("windows", pa.int64(), False),
    ("throttled_windows", pa.int64(), False),
    ("throttled_share", NUMBER, False),
    ("throttled_s", NUMBER, False),
    ("longest_s", NUMBER, False),
    ("delay_s", NUMBER, False),
    ("first_throttled", pa.timestamp("us", "UTC"), True),
)
"""The effect that limits would have had on a usage, a row a broker, key and bucket.

`windows` are the seconds that it was active
in; `throttled_s` is how long it would have been throttled, `longest_s` in one go, `delay_s` how late it was at worst.
"""

CANARY = _schema(
    ("broker", WHOLE, False),
    ("user", TEXT, True),
    ("client_id", TEXT, False),
    ("key", TEXT, False),
    ("limit", NUMBER, True),
    ("level", TEXT, True),
    ("bytes", NUMBER, False),
    ("rate", NUMBER, True),
    ("expected", FLAG, True),
    ("throttled", FLAG, True),
    ("throttle_ms", NUMBER, True),
    ("agrees", FLAG, True),
    ("note", TEXT, True),
)
"""The limit that each broker enforced on a real client, beside the prediction. `rate` is before the first throttle:
an idle client may use some 10 s of its limit at once. Null in `agrees`: not conclusive."""

OBSERVED = _schema(
    ("broker", WHOLE, False),
    ("state", TEXT, False),
    ("level_before", TEXT, True),
    ("level_after", TEXT, True),
    ("since", MOMENT, True),
    ("until", MOMENT, True),
    ("logs", pa.list_(TEXT), True),
    ("complete", FLAG, True),
    ("message", TEXT, True),
)
"""The request logger of each broker after an observation.

`state` is restored, kept (on already before), moved (somebody set
another level), left (still on) or skipped (not observed). `logs` are the files that the requests are in, the oldest
first, where that is known; not `complete` where log4j has deleted some of them meanwhile."""

CONFLICTS = _schema(
    ("row", WHOLE, False),
    ("resource", TEXT, False),
    ("key", TEXT, False),
    ("old", TEXT, True),
    ("now", TEXT, True),
    ("wanted", TEXT, True),
)
"""The rows of a plan that somebody else has moved since it was made."""

DANGERS = _schema(
    ("row", WHOLE, False),
    ("resource", TEXT, False),
    ("key", TEXT, False),
    ("danger", TEXT, False),
    ("message", TEXT, False),
)
"""The rows of a plan that weaken something, and need its key allowed. `danger` is durability, retention, listener,
login, address, code, access, encryption, quota, unit or stop; `message` says from what to what, and what is weaker
then."""

WARNINGS = _schema(
    ("warning", TEXT, False),
    ("row", WHOLE, True),
    ("resource", TEXT, True),
    ("key", TEXT, True),
    ("message", TEXT, False),
)
"""Facts that the rows of a plan do not show. `warning` is shadows, shadowed, reach, blank client-id, sharing,
principal, per broker or in parts; `row`, `resource` and `key` are the first that it is about, null where it is about
all of it."""

JOURNAL = _schema(
    ("line", WHOLE, False),
    ("at", TEXT, True),
    ("run", WHOLE, True),
    ("kind", TEXT, False),
    ("batch", WHOLE, True),
    ("rows", TEXT, True),
    ("says", TEXT, True),
)
"""The records of a plan's journal. `rows` are numbers of the plan's rows, such as `1-5000`."""

PLANS = _schema(
    ("plan_id", TEXT, False),
    ("cluster_id", TEXT, True),
    ("created", TEXT, True),
    ("author", TEXT, True),
    ("changes", WHOLE, True),
    ("runs", WHOLE, True),
    ("verified", WHOLE, True),
    ("in_doubt", WHOLE, True),
    ("reason", TEXT, True),
    ("error", TEXT, True),
    ("message", TEXT, True),
)
"""The plans that have a journal here; a broken one has an error. `verified` and `in_doubt` count rows."""

WHY = pa.schema(
    [
        *EFFECTIVE,
        *_schema(
            ("entity", TEXT, True),
            ("brokers", WHOLE, False),
            ("total", NUMBER, True),
            ("clients", pa.int64(), True),
            ("windows_unknown", pa.int64(), True),
            ("peak", NUMBER, True),
            ("utilisation", NUMBER, True),
            ("throttle_ms", NUMBER, True),
            ("share_throttled", NUMBER, True),
        ),
    ]
)
"""EFFECTIVE of one client, and what there is to know of each limit. `entity` is where it is stored, `total` what it
adds up to on all `brokers`. From USAGE, null without it: how many known `clients` share the bucket, this one included;
the bucket's `peak` on the broker where it is highest, in the key's unit, and `utilisation`, that in percent of the
limit, both the least that it can be where of `windows_unknown` a part is unknown; the longest throttle that was told,
and the fraction of windows with one."""

LIFTS = _schema(
    ("number", WHOLE, False),
    ("key", WORD, False),
    ("line", TEXT, False),
    ("limit", NUMBER, True),
    ("reach", TEXT, False),
    ("consequence", TEXT, False),
)
"""Changes that would lift a limit of one client: the `line` to type after `quota`, the client's `limit` then (null:
unlimited), whom the change binds, and what else comes of it."""

PERMISSIONS = _schema(
    ("action", TEXT, False),
    ("operation", TEXT, False),
    ("resource", TEXT, False),
    ("allowed", FLAG, False),
    ("note", TEXT, True),
    ("grant", TEXT, True),
)
"""The rights that some changes need: Kafka's `operation` on a `resource`, whether we have it, the broker's own words,
and, where it is missing, the line of Kafka's tool that grants it."""

CHECKS = _schema(
    ("check", WORD, False),
    ("subject", TEXT, False),
    ("state", WORD, False),
    ("note", TEXT, False),
    ("mend", TEXT, True),
)
"""Checks of a connection, in the order in which they were made: the `subject` of each, its `state` (ok, warning,
failed, absent: an extra or a feature that is not set up; skipped: what it stands on failed), what was seen, and what
mends it."""

REDUNDANT = _schema(
    ("entity", TEXT, False),
    ("level", WORD, False),
    ("key", WORD, False),
    ("value", NUMBER, False),
    ("behind", TEXT, False),
    ("safe", FLAG, False),
    ("reason", TEXT, False),
)
"""Quotas that repeat what the entity `behind` would give all their clients anyway; `safe` to remove where these would
draw from the same bucket too."""

UNLIMITED = _schema(("user", TEXT, True), ("client_id", TEXT, True), ("key", WORD, False))
"""The clients without a limit, by key. A null user or client-id stands for each that no quota names; "" sends none."""

CLIENT_IDS = _schema(
    ("pattern", TEXT, False),
    ("sort", TEXT, False),
    ("client_ids", pa.int64(), False),
    ("users", pa.int64(), False),
    ("example", TEXT, False),
    ("user", TEXT, False),
    ("binds", TEXT, True),
    ("advice", TEXT, False),
)
"""Client-ids that look as if a machine had made them up, many to a `pattern`. `sort` is what varies: uuid, hex, number,
host, random, library; `user` and `example` are one client of them, `binds` the entities whose quotas limit it."""

TREE = _schema(
    ("entity", TEXT, False),
    ("parent", TEXT, True),
    ("level", TEXT, False),
    ("key", TEXT, True),
    ("value", NUMBER, True),
    ("shadowed_by", TEXT, True),
)
"""The hierarchy of quotas; `shadowed_by` is the entity (or entities) that always come first."""

VERDICTS = _schema(
    ("check", TEXT, False),
    ("verdict", TEXT, False),
    ("found", pa.int64(), True),
    ("says", TEXT, False),
)
"""The checks of a report. `verdict` is ok, look (somebody should), or not looked; `found` counts rows."""

SUMMARY = _schema(("of", TEXT, False), ("is", TEXT, False))
"""The record of a runbook's run, in a few lines."""

BROKERS = _schema(
    ("id", WHOLE, False),
    ("host", TEXT, False),
    ("port", WHOLE, False),
    ("rack", TEXT, True),
    ("is_fenced", FLAG, False),
)
"""The brokers of a cluster, fenced ones included."""


LOCAL = _schema(
    ("name", TEXT, False),
    ("state", TEXT, False),
    ("bootstrap", TEXT, False),
    ("version", TEXT, False),
    ("nodes", WHOLE, False),
    ("alive", WHOLE, False),
    ("secure", FLAG, False),
    ("started_at", pa.timestamp("us", "UTC"), False),
    ("folder", TEXT, False),
)
"""The local Kafkas."""


def require_columns(frame_name: str, needed: Iterable[str], columns: Iterable[str]) -> None:
    """Refuse a frame that does not have all the needed columns; `frame_name` is a plural, such as "the pairs".

    Raises
    ------
    UsageError
        A column is missing; the message says which, and what there is.
    """
    names = list(columns)
    if missing := [name for name in needed if name not in names]:
        hint = f"They have {', '.join(names) or 'no columns'}."
        raise UsageError(f"{frame_name} have no column {', '.join(missing)}", hint=hint)


def effective(overridden: bool) -> pa.Schema:
    """EFFECTIVE in the long form, with the list of overridden entries or without."""
    return EFFECTIVE.append(pa.field("overridden", OVERRIDDEN)) if overridden else EFFECTIVE


def effective_wide(keys: Sequence[str]) -> pa.Schema:
    """EFFECTIVE in the wide form: one struct a key."""
    parts = [EFFECTIVE.field(name) for name in ("value", "level", "bucket_user", "bucket_client_id")]
    return pa.schema(
        [*(EFFECTIVE.field(n) for n in ("user", "client_id")), *(pa.field(k, pa.struct(parts)) for k in keys)]
    )


def table(schema: pa.Schema, rows: Iterable[dict[str, object]]) -> pa.Table:
    """A table of that schema from rows; absent columns are null."""
    rows = list(rows)
    return from_columns(schema, {name: [row.get(name) for row in rows] for name in schema.names})


def from_columns(schema: pa.Schema, columns: Mapping[str, Sequence[object]]) -> pa.Table:
    """A table of that schema from lists of values."""
    return pa.table([array_of(columns[field.name], field.type) for field in schema], schema=schema)
