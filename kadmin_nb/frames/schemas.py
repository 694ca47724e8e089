"""Every frame's columns, once: a class per frame, by subject. `frame` says how a column is declared.

`frame_of` is the one place that says which frame a table is, `field_of` which column one of its columns is.

All frames may lead with `cluster_id`. Answers carry the name of their frame (`kadmin.frame`), `kadmin.cluster_id` and
`kadmin.taken_at` (ISO 8601, UTC) in their schema metadata. The same columns and types hold for zero rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from ..errors import UsageError, printable
from .blocks import BADGE, BELOW, KEY, NAME, PROSE
from .frame import (
    BYTES,
    COUNT,
    DAY,
    FLAG,
    FRAME,
    FRAMES,
    ID,
    ISO_TIME,
    MEASURED,
    MOMENT,
    MS,
    NUMBER,
    OF_KEY,
    PERCENT,
    SHARE,
    TEXT,
    WHOLE,
    WORD,
    Field,
    Frame,
    S,
)

TEXTS = pa.list_(TEXT)
BROKER_IDS = pa.list_(WHOLE)
SYNONYMS = pa.list_(
    pa.struct([pa.field("source", TEXT, False), pa.field("key", TEXT, False), pa.field("value", TEXT, True)])
)
QUOTA_KEYS = pa.list_(pa.struct([("level", TEXT), ("key", TEXT), ("quotas", COUNT)]))
HISTOGRAM = pa.list_(pa.struct([("bin", WHOLE), ("windows", COUNT)]))
OVERRIDDEN = pa.list_(pa.struct([pa.field("level", TEXT, False), pa.field("value", NUMBER, False)]))

PASSED_OVER, TOPIC_MISSING = "kadmin.passed_over", "kadmin.topic_missing"
"""Metadata of CLIENT_CONFIGS: how many records cannot be read, and the topic's name where it is not there."""

OF_BUCKETS = "metrics: the broker's own rate of a bucket"
"""The `source` of a row of USAGE whose names are a bucket's: who shares one it does not tell."""

# --- columns of many frames ---


class _Common(Frame):
    """Columns of many frames, of which each names its own in `columns`."""

    cluster_id = Field(TEXT, "the id of the cluster, of frames of several", look=NAME)
    row = Field(WHOLE, "the number of the row, from 1")
    entity = Field(TEXT, "the entity as it would be typed")
    user = Field(TEXT, "the user's name as the broker knows it")
    client_id = Field(TEXT, "as clients send it")
    key = Field(TEXT, "Kafka's name of the key", look=KEY)
    value = limit = Field(NUMBER, unit=OF_KEY)
    level = Field(WORD, "KIP-248's level", look=BADGE)
    broker = Field(WHOLE, "the broker's id")
    bucket_user = bucket_client_id = Field(WORD, '"": this part is not in the bucket')
    resource = Field(TEXT, "as it would be typed", look=NAME)
    state = source = finding = Field(TEXT, look=BADGE)
    old = wanted = Field(TEXT, "as the broker takes it", unit=OF_KEY, null=True)
    note = Field(TEXT, look=PROSE, null=True)
    reason = message = Field(TEXT, look=PROSE)
    error = Field(TEXT, "Kafka's name of the error of this row", look=PROSE, null=True)
    coverage = Field(TEXT, "how much of the whole it was read from: brokers, time, rows, limit", look=PROSE, null=True)
    plan_id = Field(TEXT, "the plan's id", unit=ID)
    throttle_ms = Field(NUMBER, "the longest throttle that was reported", unit=MS, null=True)
    clients = Field(COUNT, "the known clients that share the bucket")
    windows_unknown = Field(COUNT, "windows in which a part of the use is unknown: figures are lower bounds")
    peak = Field(NUMBER, "the most in a window; null is unknown", unit=MEASURED, null=True)
    utilisation = Field(NUMBER, "the peak in percent of the limit", unit=PERCENT, null=True)
    share_throttled = Field(NUMBER, "of the windows", unit=SHARE, null=True)
    topic = Field(TEXT, look=NAME)
    since = Field(MOMENT, "the first window that the broker has in the usage", null=True)
    resource_type = Field(TEXT, "Kafka's name of the type")
    resource_name = Field(TEXT, '"": the cluster-wide default of brokers')
    is_sensitive = Field(FLAG, "its value cannot be read")
    revision = Field(COUNT, "the offset of its record")
    changed_at = Field(MOMENT, "the broker's time")
    effect = Field(WORD, look=BADGE)
    level_before = level_after = Field(WORD, look=BADGE, null=True)
    longest_above_100_s = Field(NUMBER, unit=S, null=True)
    until = Field(MOMENT, "the end of the last window that the broker has in the usage", null=True)
    frame = Field(TEXT, "quotas, configs, client_configs or credentials")


COMMON = Frame.common = _Common.fields


class _OfCluster(Frame):
    columns = "cluster_id"


class _BucketOfBroker(Frame):
    columns = "broker key:word bucket_user bucket_client_id level limit"


class _Taken(Frame):
    columns = "taken_at:moment snapshot_id:text"
    complete = Field(FLAG, "false: something could not be read")


class _Also(_OfCluster, _Taken):
    """Columns that a frame of any kind may have as well."""

    columns = "overridden why error message?"
    overridden = Field(OVERRIDDEN, "the limits that lost, most specific first", null=True)
    why = Field(TEXT, "how the value was found", look=PROSE)


# --- quotas ---


class QUOTAS(Frame, key="entity key"):
    """One row per entity and key, sorted by both. `user` is null both for default and for absent: `level` tells."""

    shown = "rung! who! keys!"
    nouns = "quota", "quotas"
    columns = "entity level user? client_id? ip:text? key:word value"


class PAIRS(Frame):
    """Clients to resolve. A null client-id counts as empty."""

    shown = "who!"
    columns = "user client_id?"


class EFFECTIVE(Frame):
    """The effective quota of each client and key. A null value, level and bucket mean unlimited. A null user or
    client-id is each that no quota names, as is null in its bucket."""

    shown = "client! key! value! level shared"
    nouns = "client", "clients"
    columns = "user client_id key:word value? level? bucket_user? bucket_client_id?"


class EFFECTIVE_IP(Frame):
    """The effective connection quota of each address."""

    shown = "who! key! value! level"
    nouns = "address", "addresses"
    columns = "ip:text key:word value? level?"


class WHY(EFFECTIVE):
    """EFFECTIVE of one client, and what is known of each limit. The last columns are from USAGE, null without
    it."""

    shown = "rung! who! key! value! total shared clients peak! utilisation! throttle_ms! share_throttled"
    columns = (
        "entity brokers:whole total clients windows_unknown? peak busiest utilisation throttle_ms share_throttled"
        " throttled_s"
    )
    entity = Field(TEXT, "where it is stored", null=True)
    total = Field(NUMBER, "what it adds up to on all brokers; null on one", unit=OF_KEY, null=True)
    clients = Field(COUNT, "the known clients that share the bucket, this one included", null=True)
    peak = Field(NUMBER, "the bucket's, on the broker where it is highest", unit=MEASURED, null=True)
    busiest = Field(WHOLE, "that broker", null=True)
    throttled_s = Field(NUMBER, "of the connection that was throttled longest there, by requests", unit=S, null=True)


class LADDER(Frame, key="entity key"):
    """The levels that can limit one client, the most specific first, with the quotas of each; after them,
    without a level, who shares each limit that applies."""

    shown = "rung! set_on! keys!"
    columns = "level? entity key:word? value?"
    standing = Field(TEXT, "applies, or overridden by a more specific one; without a value the sharers", null=True)


class LEADERS(Frame, key="topic partition"):
    """The partitions of some topics, and the brokers that have them."""

    columns = "topic partition:whole"
    leader = Field(WHOLE, "the broker that leads it; null: it is offline", null=True)
    replicas = Field(BROKER_IDS, "the brokers that have it, in the order of preference")
    in_sync = Field(BROKER_IDS, "those of them that are in sync")


class BRAKES(Frame, key="number"):
    """What slows a client, a topic or a broker; the brakes that bite are first."""

    shown = "number brake! culprit! key state! throttle_ms share_throttled since message! coverage fix!"
    columns = "number:whole brake culprit key? state throttle_ms share_throttled since message coverage"
    brake = Field(TEXT, look=BADGE)
    culprit = Field(TEXT, "who or what causes it, as it would be typed", look=NAME, null=True)
    state = Field(TEXT, "bites, as far as was seen; may bite; not known; stands, and slows nothing now", look=BADGE)
    since = Field(MOMENT, "the first throttle that was seen", null=True)
    fix = Field(TEXT, "the smallest change that lifts it; the line that shows what is not known", look=PROSE, null=True)


class TREE(Frame, key="entity key"):
    """The hierarchy of quotas."""

    shown = "rung! branch! key! value! shadowed_by!"
    nouns = "quota", "quotas"
    columns = "entity parent:text? level:text key? value?"
    shadowed_by = Field(TEXT, "the entities that always win", look=NAME, null=True)


# --- configs ---


class CONFIGS(Frame, key="resource_type resource_name key"):
    """One row per resource and key; a resource that failed is one row with a null key and its error."""

    shown = "resource_of! key! config_value! source instead_of documentation error! message!"
    nouns = "config", "configs"
    columns = (
        "resource_type:word resource_name key? value:text? source:word? is_sensitive? is_read_only:flag?"
        " is_default:flag? type:word? synonyms documentation error message?"
    )
    synonyms = Field(SYNONYMS, null=True)
    documentation = Field(TEXT, look=PROSE, null=True)


class FINDINGS(Frame):
    """Configs or quotas that need a look. A null key: about all keys, or it could not be read, for the `error` of that
    name. Of quotas `resource_type` is QUOTA, and `resource_name` an entity, clients, or a pattern of client-ids."""

    shown = "finding! resource_of! key! value source expected message! coverage op fix! error!"
    columns = (
        "finding resource_type resource_name key? value:text? source expected expected_source:text? message coverage"
        " op fix error"
    )
    source = Field(TEXT, "where the value is set", look=BADGE, null=True)
    expected = Field(TEXT, "the value without it, of a broker's peers, or in its place", unit=OF_KEY, null=True)
    op = Field(TEXT, "set (to `expected`) or delete; null: no change fixes it", look=BADGE, null=True)
    fix = Field(TEXT, "the line that fixes it", look=PROSE, null=True)


# --- users and credentials ---


class SCRAM(Frame, key="user mechanism"):
    """One row per user and mechanism, sorted by both: all that brokers show of a credential. A user that failed, or has
    none (RESOURCE_NOT_FOUND), is one row with a null mechanism."""

    shown = "who! mechanism! iterations error! message!"
    nouns = "credential", "credentials"
    columns = "user mechanism:word? iterations:whole? error message?"


class USERS(Frame, key="user"):
    """One row per user that quotas, SCRAM credentials or ACLs name. What may not be read, or does not exist, is null.
    `finding` is orphaned-quotas, orphaned-acls or orphaned-credentials where nothing else names the user."""

    shown = "who! mechanisms quotas! acls finding!"
    nouns = "user", "users"
    columns = "user mechanisms quotas quota_keys acls finding:word?"
    mechanisms = Field(TEXT, "of the credentials", null=True)
    quotas = Field(COUNT, "how many", null=True)
    quota_keys = Field(QUOTA_KEYS, "the keys of the quotas at each level", null=True)
    acls = Field(COUNT, "how many", null=True)


class PERMISSIONS(Frame):
    """The rights that some changes need."""

    shown = "action! operation resource! allowed! note!"
    columns = "action:text operation resource"
    operation = Field(TEXT, "Kafka's name")
    allowed = Field(FLAG, "null: not known, no broker answered", null=True)
    note = Field(TEXT, "the broker's own words", look=PROSE, null=True)
    grant = Field(TEXT, "the line of Kafka's tool that grants a missing right", null=True)


# --- client configs (KIP-649) ---


class _ClientConfig(Frame):
    columns = "entity user client_id key:word value:text"
    client_id = Field(TEXT, "null: the user's own entry", null=True)


class CLIENT_CONFIGS(_ClientConfig, key="user client_id key"):
    """One row per entity and key of dynamic client configs (KIP-649), sorted by user, client-id and key."""

    shown = "who! key! value! revision author plan_id changed_at"
    nouns = "client config", "client configs"
    columns = "revision author:text plan_id changed_at"


class STATUS(Frame):
    """The values that each client that is alive says it runs with. `state` is follows: it has the entry's value;
    refuses, with a reason; behind: it has another value than the entry, or the entry is gone; static, with a null
    key: no entry is about it; or silent: it never said."""

    shown = "who! key! value! state! reason! revision at instance"
    columns = "user client_id instance:text revision? key:word? value:text? state:word reason?"
    at = Field(MOMENT, "the broker's time of its last report; an unchanged one is repeated each day", null=True)


class FOLLOWERS(Frame):
    """The registered clients that are alive, as they call themselves, and whether they follow a new value of the key.
    One that is only seen in usage has no software, version, instance, group, keys or time."""

    shown = "who! key follows! reason! software version instance supported_keys group_id seen_at"
    columns = (
        "user client_id software version:text? instance:text? key:word follows:flag reason group_id:text?"
        " group_protocol:text?"
    )
    software = Field(TEXT, "the client software's own name", null=True)
    reason = Field(TEXT, "why it does not follow", look=PROSE, null=True)
    keys = Field(TEXTS, "those that it supports", null=True)
    seen_at = Field(MOMENT, "the broker's time of its registration", null=True)


# --- plans ---


class PLAN(Frame, key="row"):
    """One row per change, before and after."""

    shown = "change! resource! short_key! applies_before! applies_after! change_note"
    columns = "row kind:text op resource key old wanted after old_known level:text? validated note"
    op = Field(TEXT, look=BADGE)
    after = Field(TEXT, "what will be stored", unit=OF_KEY, null=True)
    old_known = Field(FLAG, "false: the old value cannot be read")
    validated = Field(TEXT, "ok, the broker's error, or not possible", look=PROSE)
    change = Field(TEXT, "set, changed, removed, unchanged; danger or failed: the row is dangerous, or refused")
    applies_before = Field(TEXT, "the limit or value in force now, its own or what it falls back to; null: not known",
                           unit=OF_KEY, null=True)  # fmt: skip
    applies_after = Field(TEXT, "the same afterwards", unit=OF_KEY, null=True)
    falls_back_to = Field(TEXT, "where what applies is set as long as it has none of its own", look=NAME, null=True)
    clients = Field(COUNT, "known clients that get it, or had what is removed; null: none is known, or none was given",
                    null=True)  # fmt: skip


class OUTCOMES(PLAN):
    """PLAN plus what became of each row."""

    shown = (
        "change! resource! short_key! applies_before! applies_after! state! error! message! "
        "brokers_agreeing brokers lag_ms"
    )
    columns = "state error message? brokers_agreeing brokers:whole?"
    brokers_agreeing = Field(WHOLE, "those of `brokers` that hold it; null: none was asked afterwards", null=True)
    lag_ms = Field(WHOLE, unit=MS, null=True)


class CONFLICTS(Frame, key="row"):
    """The rows of a plan whose stored value changed since it was made."""

    nouns = "row has changed", "rows have changed"
    columns = "row resource key old now wanted"
    now = Field(TEXT, unit=OF_KEY, null=True)


class DANGERS(Frame, key="row"):
    """The rows of a plan that weaken something, and have to be allowed. `danger` is durability, retention, listener,
    login, address, code, access, encryption, quota, unit or stop; or rolled back, of the whole plan, and then its key
    is the id of the plan that did so."""

    shown = "row! resource! key! danger! message!"
    columns = "row resource key"
    danger = Field(TEXT, look=BADGE)
    message = Field(TEXT, "the old and the new value, and what gets weaker", look=PROSE)
    allow = Field(TEXT, "the words that let it through: its key and whose it is")


class WARNINGS(Frame):
    """Facts that the rows of a plan do not show. `warning` is shadows, shadowed, reach, callback,
    principal, per broker or left; `row`, `resource` and `key` are the first that it is about, null
    where it is about all of it."""

    shown = "warning! row resource key message!"
    columns = "warning row? resource? key? message"
    warning = Field(TEXT, look=BADGE)


class JOURNAL(Frame, key="line"):
    """The records of a plan's journal."""

    shown = "line! at! what_was_done!"
    nouns = "record", "records"
    columns = "line:whole at run:whole? kind:text batch:whole?"
    at = Field(TEXT, unit=ISO_TIME, null=True)
    rows = Field(TEXT, "numbers of the plan's rows, such as 1-5000", null=True)
    details = Field(TEXT, "the rest of the record, as JSON", null=True)


class PLANS(Frame, key="plan_id"):
    """The plans that have a journal here; a broken one has an error."""

    shown = "plan_id! created author what changes verified reason in_doubt cluster_id error! message!"
    nouns = "plan with a journal here", "plans with a journal here"
    columns = (
        "plan_id cluster_id? created author:text? what changes:whole? runs:whole? verified in_doubt reason? error"
        " message?"
    )
    created = Field(TEXT, unit=ISO_TIME, null=True)
    what = Field(TEXT, "its first change in words, and how many more", look=PROSE, null=True)
    verified = in_doubt = Field(WHOLE, "rows", null=True)


# --- what a plan would do ---


class IMPACT(Frame, key="user client_id key"):
    """The clients that a change of quotas touches, a row per client and key. A null value, level and bucket are
    unlimited."""

    shown = "who! key! effect! value_before! value_after! level_before level_after clients_before clients_after"
    columns = (
        "user client_id key:word effect value_before value_after level_before level_after"
        " bucket_user_before:text? bucket_client_id_before:text? bucket_user_after:text? bucket_client_id_after:text?"
    )
    value_before = value_after = Field(NUMBER, unit=OF_KEY, null=True)
    clients_before = clients_after = Field(COUNT, "the known clients that share the bucket", null=True)


class IMPACT_COUNTS(Frame):
    """The number of clients of each effect, `unchanged` ones included."""

    columns = "key effect:text clients"


class STALLS(Frame):
    """The seconds for which a plan throttles each client that it touches. A null limit is unlimited."""

    shown = "row broker who! key! stall_s! limit_before limit_after limit_of rate bucket_rate"
    columns = "broker user client_id key:word row? limit_before limit_after bucket_user:text? bucket_client_id:text?"
    limit_before = limit_after = Field(NUMBER, unit=OF_KEY, null=True)
    rate = bucket_rate = Field(NUMBER, "bytes/s", unit=MEASURED)
    stall_s = Field(NUMBER, unit=S)


class BACKTEST(_BucketOfBroker, key="broker key bucket_user bucket_client_id"):
    """The effect that limits would have had on a usage, a row per broker, key and bucket."""

    shown = "broker bucket! key! limit! throttled_s! throttled_share longest_s delay_s first_throttled clients level"
    columns = (
        "bucket_user:text bucket_client_id:text clients windows throttled_windows:count throttled_share throttled_s"
        " longest_s delay_s first_throttled:moment?"
    )
    windows = Field(COUNT, "the seconds that it was active in")
    throttled_share = Field(NUMBER, unit=SHARE)
    throttled_s = Field(NUMBER, "how long it would have been throttled", unit=S)
    longest_s = Field(NUMBER, "at a time, at most", unit=S)
    delay_s = Field(NUMBER, "the longest delay", unit=S)


# --- usage ---


class REQUESTS(Frame):
    """One row per request that a broker has answered."""

    shown = (
        "time broker listener who! api! api_version deprecated bytes_in bytes_out io_ms throttle_ms"
        " software_name software_version connection correlation_id"
    )
    columns = (
        "time:moment broker listener:text? user client_id api:text api_version deprecated bytes_in bytes_out io_ms"
        " throttle_ms software_name:text? software_version:text? connection:text correlation_id:whole"
    )
    api_version = Field(WHOLE, "the version of the request; null: not reported", null=True)
    deprecated = Field(FLAG, "the broker calls this version deprecated; Kafka 4.0 to 4.4 call none so", null=True)
    bytes_in = Field(COUNT, "record bytes of a PRODUCE; null: not reported", unit=BYTES, null=True)
    bytes_out = Field(COUNT, "bytes in the answer to a FETCH; null: not reported", unit=BYTES, null=True)
    io_ms = Field(NUMBER, "time of an I/O thread", unit=MS, null=True)


class METRICS(Frame):
    """Samples of `kafka.server:type=…,user=…,client-id=…`, the tags as JMX writes them, null where one is absent."""

    shown = "time broker type who! name! value!"
    columns = "time:moment broker type user? client_id? name value"
    type = Field(TEXT, "Produce, Fetch or Request")
    name = Field(
        TEXT, "byte-rate (bytes/s), request-time (percent of a thread), throttle-time (ms), quota-utilization (percent)"
    )


class USAGE(Frame, key="broker user client_id key window_start"):
    """The use of a key by each client on each broker, over a window of time. A null value is unknown:
    of a share consumer a request log tells the throttles, and no bytes."""

    shown = "broker who! key! used! window throttle_ms source"
    columns = "broker user client_id key:word window_start:moment window_end:moment value throttle_ms source"
    value = Field(NUMBER, "in the unit of the key; null is unknown", unit=OF_KEY, null=True)


class USAGE_TABLE(USAGE):
    """USAGE as `store_usage` keeps it. A window of which two logs have a part each has a row of each: they add up."""

    day = Field(DAY, "the day in UTC on which the window begins")
    read_from = Field(MOMENT, "the first request that was read of the broker in this window")
    read_to = Field(MOMENT, "the last request that was read of the broker in this window")


class _Used(Frame):
    columns = "broker key:word bucket_user? bucket_client_id? user? client_id? level? limit?"


class _OfDay(Frame):
    day = Field(DAY, "in UTC")


class UTILISATION(_Used):
    """The use of each bucket on each broker beside its limit. A row without a limit is of a client, named by `user` and
    `client_id`, which are null otherwise. Shares are fractions of `windows`."""

    shown = "broker bucket! key! limit! peak! p95 utilisation! share_throttled clients level"
    columns = (
        "brokers:whole clients? windows:count windows_seen:count windows_unknown peak p95 mean utilisation"
        " share_above_80 share_above_100 longest_above_100_s throttle_ms share_throttled since until"
    )
    p95 = mean = Field(NUMBER, unit=MEASURED, null=True)
    share_above_80 = share_above_100 = Field(NUMBER, unit=SHARE, null=True)
    watched_s = Field(NUMBER, "how long the broker was watched from then to then; null: not known", unit=S, null=True)


class UTILISATION_DAILY(_OfDay, _Used):
    """UTILISATION of each day in UTC, as figures that add up: a longer time is the sum or the maximum of its days. A
    bucket whose limit moved has a row for each limit. `clients` is null where the broker measured the bucket itself."""

    level = Field(WORD, "KIP-248's level; UNKNOWN: before the history begins", look=BADGE, null=True)
    window_s = Field(NUMBER, "the length of a window", unit=S)
    brokers = Field(WHOLE, "of the cluster, as the usage has them; a longer time has the most of a day")
    clients = Field(COUNT, "the known clients that share the bucket; a longer time has the most of a day", null=True)
    windows = Field(COUNT, "watched windows in which the limit was in force, idle ones included; add them up")
    windows_seen = Field(COUNT, "those with a row of the bucket, 0: not used on this day; add them up")
    windows_unknown = Field(COUNT, "those in which a part of the use is unknown; add them up")
    windows_above_80 = windows_above_100 = Field(COUNT, "null without a limit; add them up", null=True)
    windows_throttled = Field(COUNT, "null: unknown; add them up", null=True)
    used_sum = Field(NUMBER, "divided by `windows` the mean; null is unknown, or idle", unit=MEASURED, null=True)
    peak = Field(NUMBER, "the most in a window; null is unknown, or idle; take the maximum", unit=MEASURED, null=True)
    longest_above_100_s = Field(NUMBER, "the longest run within the day; take the maximum", unit=S, null=True)
    throttle_ms = Field(NUMBER, "the longest throttle that was reported; take the maximum", unit=MS, null=True)
    histogram = Field(HISTOGRAM, "windows by use: bin n from 2^(n/32) up to 2^((n+1)/32), without idle ones")


class NEAR(_BucketOfBroker, key="broker key bucket_user bucket_client_id"):
    """The buckets that are near their limit on a broker, over it, or throttled, the worst first: columns of
    UTILISATION."""

    shown = "near_sign! bucket! short_key! use! of_limit! broker throttle_ms! level"
    columns = "windows_unknown peak utilisation longest_above_100_s throttle_ms since until"


class ALERTS(_BucketOfBroker, key="broker key bucket_user bucket_client_id window_start"):
    """The windows in which a bucket was near its limit on a broker, over it, or throttled. In a stream each comes once,
    when no request of it can come any more."""

    columns = "window_start:moment window_end:moment used unknown utilisation throttle_ms"
    used = Field(NUMBER, "as far as it is known; null is unknown", unit=OF_KEY, null=True)
    unknown = Field(FLAG, "a part of the use is unknown: it is a lower bound")
    utilisation = Field(NUMBER, unit=PERCENT, null=True)


class TOP(Frame, key="key user client_id"):
    """The clients that used most of each key, the most first. Of usage from metrics the names are a bucket's. Clients
    whose use is unknown come last, with nulls and without shares."""

    shown = "short_key! who! mean! share! peak throttle_ms brokers"
    columns = "key:word user client_id brokers:whole mean share peak throttle_ms"
    mean = Field(NUMBER, "over the time that was watched, on all brokers together", unit=MEASURED, null=True)
    share = Field(NUMBER, "of what all clients used, as far as it was seen", unit=PERCENT, null=True)
    peak = Field(NUMBER, "the most in a window on one broker", unit=MEASURED, null=True)


class USAGE_TOTALS(Frame, key="day"):
    """What was used in a month or a day. The columns that it was added up by come first, and are a part of its key. All
    figures add up over rows."""

    day = Field(DAY, "the day in UTC, of a month its first; a window counts on the day on which it begins")
    bytes_in = bytes_out = Field(COUNT, "of producers, and to consumers", unit=BYTES)
    request_s = Field(NUMBER, "time of threads that worked for requests", unit=S)
    throttled_s = Field(NUMBER, "the throttle of each window, added up", unit=S)
    windows = Field(COUNT, "rows of USAGE")
    windows_unknown = Field(COUNT, "windows whose use is unknown: figures are the least that it can be")


class OBSERVED(Frame):
    """The request logger of each broker after an observation. `state` is restored, kept (on already before), moved
    (another level was set meanwhile), left (still on) or skipped (not observed)."""

    shown = "broker! state! message! level_before since until logs complete"
    columns = "broker state level_before:text since until logs complete message?"
    since = until = Field(MOMENT, null=True)
    logs = Field(TEXTS, "the files that the requests are in, the oldest first, if that is known", null=True)
    complete = Field(FLAG, "false: log4j has deleted some of them meanwhile", null=True)


# --- snapshots and differences ---


class SNAPSHOT_QUOTAS(_OfCluster, QUOTAS, _Taken, key="snapshot_id entity key"):
    """SNAPSHOT: the quotas that a cluster held at a time."""


class SNAPSHOT_CONFIGS(_OfCluster, CONFIGS, _Taken, key="snapshot_id resource_type resource_name key"):
    """SNAPSHOT: the configs that a cluster held at a time."""


class SNAPSHOT_CLIENT_CONFIGS(_OfCluster, CLIENT_CONFIGS, _Taken, key="snapshot_id user client_id key"):
    """SNAPSHOT: the dynamic client configs that a cluster held at a time; of histories and files their values alone."""

    columns = "revision? author:text? plan_id? changed_at?"


class _Credential(Frame):
    shown = "who! key! value!"
    columns = "entity user"
    key = Field(WORD, "the mechanism", look=KEY)
    value = Field(WHOLE, "the iterations")


class SNAPSHOT_CREDENTIALS(_OfCluster, _Credential, _Taken, key="snapshot_id entity key"):
    """SNAPSHOT: the SCRAM credentials that a cluster held at a time, one row per user and mechanism; no password."""


class SNAPSHOTS(_OfCluster, key="snapshot_id kind"):
    """The snapshots of a history, one row per snapshot and kind."""

    shown = "taken_at! kind! rows! scopes snapshot_id cluster_id"
    nouns = "part of a snapshot", "parts of snapshots"
    columns = "taken_at:moment snapshot_id:text kind rows"
    kind = Field(TEXT, "quotas, configs, client_configs or credentials")
    scopes = Field(TEXT, "the parts of the kind that it has read, separated by spaces")
    rows = Field(COUNT, "0: nothing was set")


class _Interval(Frame):
    valid_from = Field(MOMENT, "the time of the snapshot that saw it first")
    valid_to = Field(MOMENT, "the time of the snapshot that saw it no longer as it was; null: now", null=True)


class QUOTAS_HISTORY(_OfCluster, QUOTAS, _Interval, key="cluster_id entity key valid_from"):
    """The quotas of a history, one row per entity, key and time in which its value was the same. State at t:
    `valid_from <= t AND (valid_to IS NULL OR valid_to > t)`."""

    shown = "rung! who! key! value! valid_from! valid_to!"
    columns = "level:text key"


class _ConfigsKept(Frame):
    columns = (
        "resource_type resource_name key value:text? source? is_sensitive? is_read_only:flag? is_default:flag?"
        " type:text?"
    )
    synonyms = Field(TEXT, "JSON: a list of source, key and value", null=True)


class CONFIGS_HISTORY(_OfCluster, _ConfigsKept, _Interval, key="cluster_id resource_type resource_name key valid_from"):
    """The configs of a history, one row per resource, key and time in which all of it was the same. State at t:
    `valid_from <= t AND (valid_to IS NULL OR valid_to > t)`."""

    shown = "resource_of! key! config_value! source valid_from! valid_to! is_read_only is_default type synonyms"


class CLIENT_CONFIGS_HISTORY(_OfCluster, _ClientConfig, _Interval, key="cluster_id entity key valid_from"):
    """The dynamic client configs of a history, one row per entity, key and time in which its value was the same. State
    at t: `valid_from <= t AND (valid_to IS NULL OR valid_to > t)`."""

    shown = "who! key! value! valid_from! valid_to!"
    columns = "key"


class CREDENTIALS_HISTORY(_OfCluster, _Credential, _Interval, key="cluster_id entity key valid_from"):
    """The SCRAM credentials of a history, one row per user, mechanism and time in which its iterations were the same.
    State at t: `valid_from <= t AND (valid_to IS NULL OR valid_to > t)`. A new password with as many iterations is not
    seen."""

    shown = "who! key! value! valid_from! valid_to!"
    key = Field(TEXT, "the mechanism", look=KEY)


class PLANNED_CHANGES(_OfCluster, key="cluster_id plan_id frame resource_type resource_name key taken_at"):
    """What plans left that a history was recorded with, one row per change of a plan. A change of the history is a
    plan's if its value is this one and it fell in the time in which the plan was applied."""

    columns = "frame taken_at plan_id author:text? resource_type resource_name key"
    taken_at = Field(MOMENT, "the time of the snapshot that was recorded with the plan")
    resource_type = Field(TEXT, "of a config; null: an entity", null=True)
    resource_name = Field(TEXT, "the name of the resource, or the entity")
    value = Field(TEXT, "as the broker takes it; null: removed", unit=OF_KEY, null=True)
    applied_from = Field(MOMENT, "the plan was applied after this time")
    applied_until = Field(MOMENT, "and not after this")


class HISTORY_CHANGES(_OfCluster):
    """Changes between a snapshot and the next; `plan_id` and `author` where a plan left that value."""

    shown = "taken_at! kind resource! key! state! old! new! author! plan_id! source since cluster_id"
    nouns = "change", "changes"
    columns = (
        "since taken_at:moment snapshot_id:text plan_id? author:text? kind:text resource key state old new source?"
    )
    since = Field(MOMENT, "the time of the snapshot before")
    state = Field(TEXT, "added, removed or changed", look=BADGE)
    new = Field(TEXT, unit=OF_KEY, null=True)


class DIFF(Frame, key="row"):
    """Differences, one row for each resource and key. `state` is added (only b has it), removed (only a), changed,
    source (the same value from elsewhere), or unknown (one side could not be read; the key is null). At the end,
    where everything is asked for: default (set on one side to what is the default on the other) and temporary
    (throttles of copies that are under way, which Kafka's tools set for a while)."""

    shown = "row kind resource! key! state! a! b! source_a source_b note"
    columns = "row kind:text resource key? state a b source_a source_b note is_sensitive"
    a = b = Field(TEXT, "as the broker takes it", unit=OF_KEY, null=True)
    source_a = source_b = Field(TEXT, look=BADGE, null=True)


# --- rules, checks and runs ---


class POLICY(Frame):
    """The verdicts of a team's rules: one row for each row that breaks a rule, and one for each rule that is kept.
    `state` is kept, broken, unknown (what it is about could not be read), no plan (it is about one), or, of a plan, as
    before: broken without it too, and no worse."""

    shown = "rule! severity state! resource! key message! value ok reason! row"
    columns = "rule severity state ok resource? key? value:text? message reason row cluster_id?"
    rule = Field(TEXT, "the name of its function")
    severity = Field(TEXT, "error or danger", look=BADGE)
    ok = Field(FLAG, "null: unknown", null=True)
    row = Field(TEXT, "the row that the function returned, as JSON", null=True)


class CHECKS(Frame):
    """Checks of a connection, failed ones first. `state` is failed, unknown (no broker answered), warning, ok,
    skipped (what it needs failed) or absent (an extra or a feature that is not set up)."""

    shown = "check_state! check! seen! fix!"
    columns = "check:word subject state:word"
    subject = Field(TEXT, "of which there may be several", null=True)
    note = Field(TEXT, "what was seen", look=PROSE)
    fix = Field(TEXT, "what fixes it", look=BELOW, null=True)


class VERDICTS(Frame, key="check"):
    """The checks of a report."""

    shown = "check! verdict! found message! coverage"
    columns = "check:text verdict found message coverage"
    verdict = Field(TEXT, "ok, look (needs a look), or not looked", look=BADGE)
    found = Field(COUNT, "rows", null=True)


class RUNS(Frame, key="cluster"):
    """A run of a runbook on each cluster of a group, in their order."""

    shown = "cluster! state! rows! plan_id message! document"
    columns = "cluster:text cluster_id? state rows:count plan_id? message document:text?"
    state = Field(TEXT, "as its record has it; or not started", look=BADGE)
    message = Field(TEXT, "what became of its rows, or why it ended", look=PROSE)
    document = Field(TEXT, "the executed notebook")


class RUNBOOKS(Frame, key="name"):
    """The runbooks that come with kadmin_nb."""

    shown = "name! description!"
    columns = "name:text"
    description = Field(TEXT, look=PROSE)


# --- clusters ---


class BROKERS(Frame, key="id"):
    """The brokers of a cluster, fenced ones included."""

    nouns = "broker", "brokers"
    columns = "id:whole host:text port:whole rack:text? is_fenced:flag"


class LOCAL(Frame, key="name"):
    """The local Kafkas."""

    shown = "name! state! bootstrap! version nodes alive secure started_at log"
    nouns = "local Kafka", "local Kafkas"
    columns = "name:text state bootstrap:text version:text nodes:whole alive:whole secure:flag started_at:moment"
    log = Field(TEXT, "of node 1; those of the other nodes are in folders beside it")


# --- tables of these columns ---

ALSO = frozenset(_Also.names)
"""The names of columns that a frame of any kind may have as well."""


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
    return EFFECTIVE.schema.append(pa.field("overridden", OVERRIDDEN)) if overridden else EFFECTIVE.schema


def effective_wide(keys: Sequence[str]) -> pa.Schema:
    """EFFECTIVE in the wide form: one struct a key."""
    user, client_id, _, *parts = EFFECTIVE.schema
    return pa.schema([user, client_id, *(pa.field(key, pa.struct(parts)) for key in keys)])


def table(of: type[Frame] | pa.Schema, rows: Iterable[dict[str, object]]) -> pa.Table:
    """A table of that frame or schema from rows; absent columns are null."""
    rows = list(rows)
    return from_columns(of, {name: [row.get(name) for row in rows] for name in of.names})


def from_columns(of: type[Frame] | pa.Schema, columns: Mapping[str, Sequence[object]]) -> pa.Table:
    """A table of that frame or schema from lists of values."""
    schema = of if isinstance(of, pa.Schema) else of.schema
    return pa.table([pa.array(columns[field.name], field.type) for field in schema], schema=schema)


def frame_of(table: pa.Table) -> type[Frame] | None:
    """The frame that a table is: by the name that it carries or, where that is lost, by its columns and their types."""
    names = frozenset(table.column_names)
    named = named_frame(table)
    if named is not None and names.issuperset(named.names):
        return named
    alike = (frame for frame in FRAMES.values() if names - ALSO == frozenset(frame.names) - ALSO)
    return next((frame for frame in alike if _has_numbers_of(table, frame)), None)


def _has_numbers_of(table: pa.Table, frame: type[Frame]) -> bool:
    """True where the columns that the frame has as numbers, and no others of its own, are numbers or empty."""
    given = {column.name: Field(column.type) for column in table.schema if not pa.types.is_null(column.type)}
    return all(given[name].is_number == field.is_number for name, field in frame.fields.items() if name in given)


def field_of(table: pa.Table, name: str) -> Field:
    """The column of that name: as the frame that the table is, or is a part of, declares it; else without a unit."""
    plain = Field(table.schema.field(name).type, name=name)
    frames: list[type[Frame] | None] = [frame_of(table), named_frame(table), _Also]
    declared = (frame.fields[name] for frame in frames if frame is not None and name in frame.fields)
    return next((field for field in declared if field.is_number == plain.is_number), plain).of(plain.type)


def named_frame(table: pa.Table) -> type[Frame] | None:
    """The frame whose name a table carries, though it may have lost some of its columns."""
    return FRAMES.get((table.schema.metadata or {}).get(FRAME, b"").decode())


def marked(table: pa.Table, marks: Mapping[Any, Any] | None) -> pa.Table:
    """`table` with these marks alone in its metadata, and the name of its frame."""
    frame, table = frame_of(table), table.replace_schema_metadata(marks)
    return table.replace_schema_metadata({**(table.schema.metadata or {}), FRAME: frame.__name__}) if frame else table


# --- the cluster and the time of an answer, in its schema metadata ---

CLUSTER_ID, TAKEN_AT = "kadmin.cluster_id", "kadmin.taken_at"
ENGINE = "kadmin.engine"
"""The engine that answered, where that was Spark."""

NOTES = "kadmin.notes"
"""Sentences on what of an answer could not be had, a line each."""


def now() -> str:
    """The time, UTC, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def stamped(
    table: pa.Table, cluster_id: str, marks: Mapping[str, str] | None = None, *, at: str | None = None
) -> pa.Table:
    """`table` with the cluster's id, the time (now unless given) and further marks in its metadata."""
    return marked(table, {CLUSTER_ID: cluster_id, TAKEN_AT: at or now(), **(marks or {})})


def noted(table: pa.Table, notes: Iterable[str]) -> pa.Table:
    """`table` with these sentences below its notes, each on a line of its own whatever names it repeats."""
    lines = [*notes_of(table), *map(printable, notes)]
    marks = table.schema.metadata or {}
    return table.replace_schema_metadata({**marks, NOTES: "\n".join(lines)}) if lines else table


def notes_of(table: pa.Table) -> tuple[str, ...]:
    """The sentences on what could not be read."""
    return tuple((mark(table, NOTES) or "").splitlines())


def mark(table: pa.Table, name: str) -> str | None:
    """One of a table's marks; None where it has none of that name."""
    text = (table.schema.metadata or {}).get(name.encode())
    return None if text is None else text.decode()
