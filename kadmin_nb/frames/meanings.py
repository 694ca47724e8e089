"""Meanings: how the values of a column are written for people, by the unit and the look that its frame declares.

A value that is counted in the unit of a key is written with that unit, a missing limit as *unlimited*, whoever a row is
about in one column, as it would be typed. Frames keep the plain values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import printable
from ..hints import short_id
from ..model.config_units import with_unit
from ..model.config_values import ConfigValue, in_unit_of
from ..model.entity import Entity
from ..model.figures import Scale, moment, percent
from ..model.grammar import DEFAULT, Value, format_word, quote
from ..model.levels import LEVELS, LEVELS_BY_NAME, SHARED
from ..model.quota_keys import HEADS, find, readable, rounded
from ..model.resources import Resource, Source
from . import schemas
from .blocks import (
    APPLIES,
    BADGE,
    BAR,
    BRANCH,
    KEY,
    NAME,
    NEAR_PERCENT,
    NOT_SET,
    NUMBER,
    OVERRIDDEN,
    PROSE,
    RUNG,
    SIGN,
    STANDING,
    TEXT,
    VALUE,
)
from .frame import BYTES, ID, ISO_TIME, MEASURED, MS, OF_KEY, PERCENT, SHARE, Field, S
from .journal_words import what_was_done

UNLIMITED, UNKNOWN = "unlimited", "unknown"
Texts = Callable[[pa.Table], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Part:
    """A column as people see it: made of the columns `sources`, as far as a table has them.

    Where a window is too narrow, columns that `stay` give way after the others.
    """

    heading: str
    sources: Sequence[str]
    texts: Texts
    look: str = TEXT
    stays: bool = False


def part(name: str, table: pa.Table) -> Part:
    """The part of that name: made of several columns, or of the column of that name."""
    if name in USED:
        return Part(name, (USED[name],), _measures(USED[name], table), NUMBER)
    field = None if name in PARTS else schemas.field_of(table, name)
    made = PARTS[name] if field is None else _of_column(field, table)
    is_value = made.sources == _OF_KEYS if field is None else field.unit == OF_KEY and not field.is_number
    return replace(made, look=NUMBER if _has_only_quotas(table) else VALUE) if is_value else made


def _has_only_quotas(table: pa.Table) -> bool:
    """True where each value is a number: one of a config may be anything, and long."""
    keys = pc.unique(table["key"]).to_pylist() if "key" in table.column_names else [""]
    return None not in map(find, filter(None, keys))


def cell(value: object) -> str:
    """A value without a meaning of its own: nothing for null, six places at most."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, Mapping):
        return " ".join(filter(None, map(cell, value.values())))
    if isinstance(value, Iterable):
        return " > ".join(map(cell, value))
    return str(value)


def _number(value: float) -> str:
    if value == 0 or 1e-3 <= abs(value) < 1e15:
        return f"{value:.6f}".rstrip("0").rstrip(".")
    return "" if math.isnan(value) else str(value)


def general_client(user: str | None, client_id: str | None) -> str:
    """A client as it would be typed; None is each name that no quota names."""
    return client(DEFAULT if user is None else user, DEFAULT if client_id is None else client_id)


def client(user: Value | None, client_id: Value | None) -> str:
    """A client as it would be typed; None is a part that is not asked about."""
    words = [format_word("user", user) if user else "(empty user)" if user == "" else ""]
    words += [format_word("client-id", client_id) if client_id else "(no client-id)" if client_id == "" else ""]
    return " ".join(filter(None, words))


def client_in_short(user: str, client_id: str) -> str:
    """A client in a sentence: `team-orders/billing`; as it would be typed where a part is blank, or has other signs."""
    are_plain = _PLAIN.fullmatch(user) and _PLAIN.fullmatch(client_id)
    return f"{user}/{client_id}" if are_plain else client(user, client_id)


_PLAIN = re.compile(r"[\w.-]+")


def in_unit(key: str | None, value: object) -> str:
    """A number, or a text that the broker takes, of a quota or config key; an empty text shows its quotes."""
    if key is None or value is None:
        return cell(value)
    if value == "":
        return quote("")
    if not find(key):
        return cell(value) if isinstance(value, float) else with_unit(key, str(value))
    try:
        return readable(key, float(str(value)))
    except ValueError:
        return str(value)


def limit(key: str | None, value: float | None) -> str:
    """A limit of a key; null is unlimited, but for what is not about a key."""
    return UNLIMITED if value is None and key is not None else in_unit(key, value)


def used(key: str | None, value: float | None) -> str:
    """A measured value of a key, in three digits."""
    return rounded(key, value) if key is not None and value is not None and find(key) else cell(value)


def word(value: str | None) -> str:
    """A name of Kafka's enumerations as a word: `DEFAULT_CLIENT_OF_USER` is *default client of user*."""
    text = _WORDS.get(value or "", value or "")
    return text.removesuffix("_CONFIG").lower().replace("_", " ") if text.isupper() else text


_WORDS = {"delete": "remove"}
"""Values of frames that people read as another word."""


def _each(write: Callable[[Any], str], name: str) -> Texts:
    """The texts of a column, value by value."""
    return lambda table: [*map(write, values_of(table, name))]


def _with_key(write: Callable[[Any, Any], str], name: str) -> Texts:
    """The texts of a column whose values are in the unit of the key beside them."""
    return lambda table: [*map(write, values_of(table, "key"), values_of(table, name))]


USED = {"used": "value", "mean": "mean", "p95": "p95", "peak": "peak"}
"""The parts that say what was used, and the column of each; null is unknown."""


def _near_signs(table: pa.Table) -> list[str]:
    """The words whose signs stand before buckets: those that are throttled, and those near their limit."""
    pairs = zip(values_of(table, "throttle_ms"), values_of(table, "utilisation"), strict=True)
    return ["throttled" if ms else "warning" if (used or 0.0) >= NEAR_PERCENT else "" for ms, used in pairs]


def _of_limits(table: pa.Table) -> list[str]:
    """What was used of each limit."""
    columns = (values_of(table, name) for name in ("key", "peak", "windows_unknown", "limit"))
    return [of_limit(*row) for row in zip(*columns, strict=True)]


def _measures(name: str, table: pa.Table) -> Texts:
    """The texts of what was used: unknown where nothing tells, the least that it can be where not all is known."""
    write = _in_one_unit(name, MEASURED, table)

    def texts(rows: pa.Table) -> list[str]:
        values = values_of(rows, name)
        knows = "windows_unknown" in rows.column_names
        unknown = values_of(rows, "windows_unknown") if knows else [value is None for value in values]
        return [*map(at_least, write(rows), unknown)]

    return texts


def _in_one_unit(name: str, unit: str, table: pa.Table) -> Texts:
    """The texts of a column of measured numbers, all in the unit of the first; of several keys each in its own."""
    first = table.slice(0, MOST_MEASURED)
    numbers: dict[str, list[float]] = {}
    for key, value in zip(values_of(first, "key"), values_of(first, name), strict=True):
        if value is not None and (kind := _kind(unit, key)):
            numbers.setdefault(kind, []).append(value)
    scales = {kind: Scale.of(UNITS[kind], values) for kind, values in numbers.items()}

    def text(key: str | None, value: float | None) -> str:
        scale = scales.get(_kind(unit, key))
        return used(key, value) if scale is None or value is None else scale.text(value)

    return _with_key(text, name)


def _kind(unit: str, key: str | None) -> str:
    """The unit that numbers are in, which may be that of the row's key."""
    if unit != MEASURED:
        return unit
    known = find(key or "")
    return known.unit if known else ""


MOST_MEASURED = 4096
"""Rows that the unit of a column is read from."""

_OF_BYTES = {" GB": 1e9, " MB": 1e6, " kB": 1e3, " B": 1}
_OF_SECONDS = {" d": 86400, " h": 3600, " min": 60, " s": 1}
UNITS: Mapping[str, Mapping[str, float]] = {
    "bytes/s": {f"{unit}/s": size for unit, size in _OF_BYTES.items()},
    "% of one thread": {" %": 1},
    "mutations/s": {"/s": 1},
    "connections/s": {"/s": 1},
    BYTES: _OF_BYTES,
    PERCENT: {" %": 1},
    SHARE: {" %": 0.01},
    S: _OF_SECONDS,
    MS: {**{unit: 1000 * size for unit, size in _OF_SECONDS.items()}, " ms": 1},
}
"""The units of measured numbers, the largest first."""


def at_least(text: str, unknown: object) -> str:
    """What was used: the least that it can be where a part of it is unknown."""
    return text if not unknown else f"at least {text}" if text else UNKNOWN


def of_limit(key: str, value: float | None, unknown: object, limit: float) -> str:
    """What was used of a limit: `4.7 of 5 MB/s`, in one unit where both have the same."""
    use, whole = at_least(used(key, value), unknown), readable(key, limit)
    number, _, unit = use.rpartition(" ")
    return f"{number if unit == whole.rpartition(' ')[2] else use} of {whole}"


def values_of(table: pa.Table, name: str) -> list[Any]:
    """The values of a column; nulls where the table lacks it. Read as a dictionary, one takes forty times as long."""
    if name not in table.column_names:
        return [None] * table.num_rows
    column = table[name]
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    values: list[Any] = column.to_pylist()
    return values


def _who(table: pa.Table) -> list[str]:
    """The subject of each row: its entity, or a client, or an address."""
    if "entity" in table.column_names:
        return values_of(table, "entity")
    clients = [*map(client, values_of(table, "user"), values_of(table, "client_id"))]
    ips = [ip and format_word("ip", ip) for ip in values_of(table, "ip")]
    return [ip or who for ip, who in zip(ips, clients, strict=True)]


def _bucket(table: pa.Table) -> list[str]:
    """The clients that share a limit; an empty part is not in it. Without a limit a row has the client instead."""
    parts = (values_of(table, name) for name in ("bucket_user", "bucket_client_id"))
    buckets = [client(user or None, client_id or None) for user, client_id in zip(*parts, strict=True)]
    return [bucket or who for bucket, who in zip(buckets, _who(table), strict=True)]


def _resource_words(table: pa.Table) -> list[str]:
    """The resource of each row, as it would be typed."""
    pairs = zip(values_of(table, "resource_type"), values_of(table, "resource_name"), strict=True)
    return ["" if None in pair else str(Resource(*pair)) for pair in pairs]


def _instead_of(table: pa.Table) -> list[str]:
    """The value that applies where the one that is set is taken away."""
    columns = [name for name in schemas.CONFIGS.names if name in table.column_names]
    rows = zip(*(values_of(table, name) for name in columns), strict=True)
    values = (dict(zip(columns, row, strict=True)) for row in rows)
    return [_inherited(ConfigValue.of(value)) if value["key"] else "" for value in values]


def _inherited(value: ConfigValue) -> str:
    synonym = value.below(value.source) if value.source and value.source != Source.BUILT_IN else None
    text = in_unit_of(value.key, synonym) if synonym else None
    return "" if text is None else with_unit(value.key, text)


def _config_value(table: pa.Table) -> list[str]:
    """A config's value; of a secret, that nobody can see it."""
    hidden = ["[sensitive]" if flag else None for flag in values_of(table, "is_sensitive")]
    values = map(in_unit, values_of(table, "key"), values_of(table, "value"))
    return [text or hide or "" for text, hide in zip(values, hidden, strict=True)]


def _overridden(table: pa.Table) -> list[str]:
    """The limits that lost, most specific first."""
    pairs = zip(values_of(table, "key"), values_of(table, "overridden"), strict=True)
    return [", ".join(f"{word(o['level'])} {readable(key, o['value'])}" for o in lost or ()) for key, lost in pairs]


def _rungs(table: pa.Table) -> list[str]:
    """The number of each level; of one that has none its last word; nothing where a row goes on about its entity."""
    levels, texts, last = values_of(table, "level"), list[str](), None
    for level, entity in zip(levels, values_of(table, "entity"), strict=True):
        texts.append("" if entity == last else RUNGS.get(level, word(level).rpartition(" ")[2]))
        last = entity
    return texts


RUNGS = {level.name: str(level.number + 1) for level in LEVELS}
"""The levels as people count them: KIP-248's QuotaSource, from 1."""


def _standings(key: str) -> Texts:
    """The limits of a key, each behind the sign that says whether it applies."""

    def text(cell: Mapping[str, Any] | None) -> str:
        value, standing = (cell or {}).get("value"), (cell or {}).get("standing") or ""
        if value is None:
            return standing or NOT_SET
        return " ".join(filter(None, [_SIGNS.get(standing, ""), readable(key, value)]))

    return _each(text, key)


_SIGNS = {"applies": APPLIES, "overridden": OVERRIDDEN}


def _branches(table: pa.Table) -> list[str]:
    """The entities of a tree: once each, indented below the parents that are there."""
    texts: list[str] = []
    above: dict[str, None] = {}
    for entity, parent in zip(values_of(table, "entity"), values_of(table, "parent"), strict=True):
        branch = f"  {entity.removeprefix(f'{parent} ')}" if parent in above else entity
        texts.append("" if entity in above else branch)
        above[entity] = None
    return texts


def _windows(table: pa.Table) -> list[str]:
    """The beginning and the end of a window; the day once where it is the same."""
    pairs = zip(map(cell, values_of(table, "window_start")), map(cell, values_of(table, "window_end")), strict=True)
    return [f"{start} to {end.removeprefix(start.partition(' ')[0]).strip()}" for start, end in pairs]


def _seen(table: pa.Table) -> list[str]:
    """What a check has seen, after what it is about."""
    pairs = zip(values_of(table, "subject"), values_of(table, "note"), strict=True)
    return [f"{subject}: {note}" if subject else note for subject, note in pairs]


def _applying(name: str) -> Texts:
    """The value in force, its own or what it falls back to, with an arrow where a limit is another than before."""

    def texts(table: pa.Table) -> list[str]:
        rows = zip(*(values_of(table, n) for n in (*_OF_KEYS[:3], name)), strict=True)
        return [_applying_text(name, *row) for row in rows]

    return texts


def _applying_text(name: str, key: str, old_known: bool, before: str | None, value: str | None) -> str:
    if value is None:
        return "not shown" if name == "applies_before" and not old_known else "not known"
    if find(key) is None or before is None:
        return in_unit(key, value)
    was, will = (math.inf if text == UNLIMITED else float(text) for text in (before, value))
    return f"{in_unit(key, value)} {'▲' if will > was else '▼' if will < was else ' '}".rstrip()


_OF_KEYS = "key", "old_known", "applies_before", "applies_after"


def _change_note(table: pa.Table) -> list[str]:
    """How many known clients a row is about, what it falls back to, who shares it then, and its note."""
    names = ("clients", "falls_back_to", "level", "after", "note")
    rows = zip(*(values_of(table, name) for name in names), strict=True)
    return [
        "; ".join(filter(None, [_having(clients, *row[1:]), *_falling_back(*row), note]))
        for clients, *row, note in rows
    ]


def _having(clients: int | None, level: str | None, after: str | None) -> str:
    """The known clients of a quota: those that share it or get it, or had it."""
    if not clients:
        return ""
    many = "share" if level in ("USER", "CLIENT") else "get"
    verb = "had" if after is None else "gets" if clients == 1 else many
    return f"{clients:,} client{'s' * (clients > 1)} {verb} it"


def _falling_back(other: str | None, level: str | None, after: str | None) -> Iterator[str]:
    """Where what applies before or afterwards is set, and who shares it then, if that is not as it was."""
    if not other:
        return
    yield f"falls back to {other}" if after is None else f"instead of {other}"
    if ours := LEVELS_BY_NAME.get(level or ""):
        others = LEVELS_BY_NAME[Entity.parse(other).level]
        if (bool(ours.user), bool(ours.client_id)) != (bool(others.user), bool(others.client_id)):
            yield SHARED[others.name if after is None else ours.name]


_SHARED_BY = re.compile(r"^shared (by|with) ")

PARTS = {
    "branch": Part("who", ("entity", "parent"), _branches, BRANCH),
    "who": Part("who", ("entity", "user", "client_id", "ip"), _who, NAME),
    "client": Part("who", ("user", "client_id"),
                   lambda table: [*map(general_client, *(values_of(table, n) for n in ("user", "client_id")))], NAME),
    "resource_of": Part("who", ("resource_type", "resource_name"), _resource_words, NAME),
    "bucket": Part("who", ("bucket_user", "bucket_client_id", "user", "client_id"), _bucket, NAME),
    "shared": Part("shared with", ("level",),
                   _each(lambda level: _SHARED_BY.sub("", SHARED.get(level or "", "")), "level"), PROSE),
    "overrides": Part("overrides", ("overridden",), _overridden, PROSE),
    "rung": Part("", ("level", "entity"), _rungs, RUNG),
    "config_value": Part("value", ("value", "is_sensitive"), _config_value),
    "instead_of": Part("instead of", ("synonyms",), _instead_of),
    "set_on": Part("set on (first from the top wins)", ("entity",), lambda table: values_of(table, "entity"), NAME),
    "near_sign": Part("", ("throttle_ms", "utilisation"), _near_signs, SIGN),
    "limit_of": Part("limit of", ("bucket_user", "bucket_client_id", "user", "client_id"), _bucket, NAME),
    "short_key": Part("key", ("key",), _each(lambda key: HEADS.get(key, key or ""), "key"), KEY),
    "use": Part("use", ("utilisation",), _each(percent, "utilisation"), BAR),
    "of_limit": Part("used", ("peak", "limit"), _of_limits, NUMBER),
    "supported_keys": Part("keys", ("keys",), _each(lambda keys: ", ".join(keys or ()), "keys")),
    "what_was_done": Part("what was done", ("kind", "rows", "details"), what_was_done, PROSE),
    "change": Part("", ("change",), lambda table: values_of(table, "change"), SIGN),
    "applies_before": Part("before", _OF_KEYS, _applying("applies_before"), NUMBER),
    "applies_after": Part("after", _OF_KEYS, _applying("applies_after"), NUMBER),
    "change_note": Part("note", ("note", "falls_back_to", "clients"), _change_note, PROSE),
    "check_state": Part("", ("state",), lambda table: values_of(table, "state"), SIGN),
    "seen": Part("seen", ("subject", "note"), _seen, PROSE),
    "window": Part("window", ("window_start", "window_end"), _windows),
}  # fmt: skip
"""The parts that are more, or other, than the column of their name."""

_HEADINGS = {
    **dict.fromkeys(("entity", "resource", "subject", "culprit"), "who"),
    **dict.fromkeys(("old", "value_before"), "before"),
    **dict.fromkeys(("new", "value_after", "wanted"), "after"),
    "throttle": "throttled",
    "throttled_share": "share throttled",
    "client_id": "client-id",
    "cluster_id": "cluster",
    "longest_above_100_s": "longest over",
}


def _of_column(field: Field, table: pa.Table) -> Part:
    """A column by itself: its unit and its look say how its values are written."""
    name = field.name
    is_limit = field.is_number and field.unit == OF_KEY and "key" in table.column_names
    if find(name) and pa.types.is_struct(field.type):
        return Part(HEADS[name], (name,), _standings(name), STANDING)
    if field.unit == OF_KEY:
        texts = _with_key(limit if is_limit else in_unit, name)
    elif field.unit == MEASURED or field.unit in UNITS:
        texts = _in_one_unit(name, field.unit, table)
    else:
        texts = _each(word if field.look == BADGE else _UNITS.get(field.unit, cell), name)
    look = NUMBER if field.is_number else field.look or TEXT
    heading = "limit" if is_limit and name == "value" else printable(_heading(field))
    return Part(heading, (name,), texts, look)


def _heading(field: Field) -> str:
    """The head of a column: one word for one thing where the column is ours."""
    name = field.name
    if not (field.comment or field.look):  # somebody else's
        return "client-id" if name == "client_id" else name.removeprefix("is_").replace("_", " ")
    words = name.removeprefix("is_").replace("_", " ").removesuffix(f" {field.unit}")
    return _HEADINGS.get(name, _HEADINGS.get(words, words))


_UNITS: Mapping[str, Callable[[Any], str]] = {ID: short_id, ISO_TIME: moment}
"""The writers of texts that are ids and times."""
