"""From a policy's TOML to rules: every word checked, each complaint one line with the file, the line and the rule."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import documents, files
from ..advice import FINDINGS as FINDING
from ..errors import KadminError, UsageError
from ..hints import did_you_mean
from ..model.changes import refuse_secret_text
from ..model.client_configs import CLIENT_KEYS, stored_value
from ..model.config_units import parse_config_number
from ..model.levels import LEVEL_NAMES
from ..model.quota_keys import QUOTA_KEYS, parse_value
from ..model.resources import RESOURCE_TYPES, SOURCES
from .capacities import EXAMPLE, NAMES, Capacities, read_capacities
from .evaluation import Policy
from .facts import CLIENT_CONFIGS, COLUMNS, CONFIGS, EFFECTIVE, NUMBERS, OF_QUOTAS, QUOTAS, TREE, null_of
from .rules import (
    BOUNDS,
    OPERATORS,
    REFUSE,
    SEVERITIES,
    WARN,
    Assertion,
    Condition,
    Forbid,
    LimitBound,
    Must,
    Required,
    Rule,
    Sum,
    Wanted,
    said,
)

_TOP = ("brokers", "dangers", "pairs", "rule")
ASSERTIONS = ("forbid", "must", "required", "sum")
_RULE = ("name", "reason", "severity", "frame", "where", "unless", "while", *ASSERTIONS)
_ALLOWED_WORDS: Mapping[str, Collection[str]] = {
    "level": LEVEL_NAMES,
    "finding": tuple(FINDING),
    "resource_type": tuple(RESOURCE_TYPES),
    "source": tuple(SOURCES.values()),
}
"""The columns that hold words of a known set."""

_KEYS = dict.fromkeys(OF_QUOTAS, tuple(key.name for key in QUOTA_KEYS)) | {CLIENT_CONFIGS: CLIENT_KEYS}
"""The keys of the frames that have no others."""

_REQUIRED = (CONFIGS, QUOTAS, EFFECTIVE, CLIENT_CONFIGS)
_SHARE = re.compile(r"(?P<percent>[0-9]+(?:\.[0-9]+)?)\s*% of capacity")


def load(path: str | os.PathLike[str]) -> Policy:
    """The policy in a TOML file, as `docs/policy.md` describes it.

    Raises
    ------
    NotFound
        No such file.
    UsageError
        It is not TOML, or has an unknown word, column, operator or unit; the message has the line, the rule and the
        nearest word.
    """
    place = Path(path)
    document, text = documents.read_toml(place, "a policy")
    return _Reader(str(path), _LineNumbers(text), place.parent).policy(document)


def load_capacities(path: str | os.PathLike[str]) -> Capacities:
    """What brokers can do, by a policy's file, or one that has nothing else.

    Raises
    ------
    NotFound, UsageError
        As of `load`; it has no `[[brokers]]`.
    """
    capacities = load(path).capacities
    if not capacities:
        raise UsageError(f"{path} has no capacity of brokers", hint=EXAMPLE)
    return capacities


def read(text: str, source: str, folder: Path | None = None) -> Policy:
    """The policy in a text; `source` is how errors name it, `folder` where its `pairs` are looked for."""
    return _Reader(source, _LineNumbers(text), folder or Path()).policy(documents.table_of(text, source))


class _LineNumbers:
    """Places of things in the text, as far as they can be told: tomllib does not say."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._rules = [n for n, line in enumerate(self._lines) if re.match(r"\s*\[\[\s*rule\s*\]\]", line)]

    def line(self, rule: int | None, word: str) -> int | None:
        """The line, from 1, in which a word stands in the rule of that number; else where the rule begins."""
        if rule is None:
            return self._first(word, 0, len(self._lines))
        if rule >= len(self._rules):
            return None
        begins = self._rules[rule]
        ends = self._rules[rule + 1] if rule + 1 < len(self._rules) else len(self._lines)
        return self._first(word, begins, ends) or begins + 1

    def _first(self, word: str, begins: int, ends: int) -> int | None:
        """Its place as a word of its own; a comment does not count."""
        pattern = re.compile(rf"(?<![\w.-]){re.escape(word)}(?![\w.-])")
        return next((n + 1 for n in range(begins, ends) if pattern.search(self._lines[n].partition("#")[0])), None)


@dataclass(frozen=True)
class _Reader:
    """Reads a document; `rule` and `name` are of the one that is being read."""

    source: str
    places: _LineNumbers
    folder: Path
    rule: int | None = None
    name: str = ""
    has_capacity: bool = False

    def policy(self, document: Mapping[str, Any]) -> Policy:
        self._known(document, _TOP, "is not a word of a policy")
        tables = document.get("rule", [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise self.wrong("rule", "rules are tables, [[rule]]")
        capacities = read_capacities(document.get("brokers", []), self.wrong)
        reader = replace(self, has_capacity=bool(capacities))
        rules = tuple(reader._numbered(number, table)._rule(table) for number, table in enumerate(tables))
        self._refuse_twice([rule.name for rule in rules])
        refuses_dangers = self._one_of("dangers", document.get("dangers", WARN), SEVERITIES) == REFUSE
        return Policy(rules, capacities, self.source, self._pairs(document.get("pairs")), refuses_dangers)

    def _numbered(self, number: int, table: Mapping[str, Any]) -> _Reader:
        name = table.get("name")
        reader = replace(self, rule=number, name=name if isinstance(name, str) else "")
        if not isinstance(name, str) or not name.strip():
            raise reader.wrong("name", f"rule {number + 1} has no name", "Refusals show it.")
        return reader

    def _refuse_twice(self, names: Sequence[str]) -> None:
        for number, name in enumerate(names):
            if name in names[:number]:
                raise self._numbered(number, {"name": name}).wrong("name", "there is another rule of that name")

    def _pairs(self, raw: object) -> Path | None:
        if raw is not None and not isinstance(raw, str):
            raise self.wrong("pairs", "pairs is the name of a Parquet or CSV file")
        return None if raw is None else self.folder / files.expanded(raw)

    # -- rules

    def _rule(self, table: Mapping[str, Any]) -> Rule:
        self._known(table, _RULE, "is not a word of a rule")
        frame = self._one_of("frame", table.get("frame"), tuple(COLUMNS))
        severity = self._one_of("severity", table.get("severity", REFUSE), SEVERITIES)
        where_keys = _keys_in(table.get("where"))
        again = [self._conditions("unless", frame, spec, where_keys) for spec in _listed(table.get("unless", []))]
        return Rule(
            self.name,
            self._sentence("reason", table.get("reason")),
            severity,
            frame,
            self._assertion(table, frame, where_keys),
            self._conditions("where", frame, table.get("where", {}), where_keys),
            tuple(spec for spec in again if spec),
            self._conditions("while", frame, table.get("while", {}), where_keys),
        )

    def _assertion(self, table: Mapping[str, Any], frame: str, keys: Sequence[str]) -> Assertion:
        assertions = [word for word in ASSERTIONS if word in table]
        if len(assertions) != 1:
            problem = "has no assertion" if not assertions else f"has several assertions: {', '.join(assertions)}"
            raise self.wrong(assertions[-1] if assertions else "name", problem, f"One of {', '.join(ASSERTIONS)}.")
        made = {"forbid": self._forbid, "must": self._must, "required": self._required, "sum": self._sum}
        return made[assertions[0]](table[assertions[0]], frame, keys)

    def _forbid(self, raw: object, frame: str, keys: Sequence[str]) -> Assertion:
        if raw is not True:
            raise self.wrong("forbid", "forbid is true, or left out")
        return Forbid()

    def _must(self, raw: object, frame: str, keys: Sequence[str]) -> Assertion:
        conditions = self._conditions("must", frame, raw, keys)
        if not conditions:
            raise self.wrong("must", "must has no column")
        return Must(conditions)

    def _required(self, raw: object, frame: str, keys: Sequence[str]) -> Assertion:
        if frame not in _REQUIRED:
            allowed = f"{', '.join(_REQUIRED[:-1])} and {_REQUIRED[-1]}"
            raise self.wrong("required", f"required is for {allowed}, not for {frame}")
        if keys:
            raise self.wrong("required", "required names the keys, so where takes none")
        if not isinstance(raw, list) or not raw or not all(isinstance(key, str) for key in raw):
            raise self.wrong("required", "required is a list of keys")
        for key in raw if frame in _KEYS else ():
            self._one_of("required", key, _KEYS[frame])
        return Required(tuple(dict.fromkeys(raw)))

    def _sum(self, raw: object, frame: str, keys: Sequence[str]) -> Assertion:
        if frame not in (QUOTAS, EFFECTIVE, TREE):
            raise self.wrong("sum", f"sum adds up quotas, so it is for {QUOTAS}, {EFFECTIVE} and {TREE}")
        if not isinstance(raw, dict) or set(raw) != {"at_most"}:
            raise self.wrong("sum", "sum needs one bound", 'For example sum = { at_most = "80% of capacity" }.')
        if not keys:
            raise self.wrong("sum", "values of different keys do not add up", "Name the key in where.")
        return Sum(self._bound(raw["at_most"], keys))

    def _bound(self, raw: object, keys: Sequence[str]) -> LimitBound:
        match = _SHARE.fullmatch(raw.strip()) if isinstance(raw, str) else None
        if match is None:
            text = str(raw)
            return LimitBound(self._amount("at_most", raw, lambda: _of_quota(text, keys)), text)
        if strange := [key for key in keys if key not in NAMES]:
            raise self.wrong("sum", f"{strange[0]} is not limited on each broker", f"One of {', '.join(NAMES)}.")
        if not self.has_capacity:
            raise self.wrong("sum", "the policy has no capacity of brokers", EXAMPLE)
        return LimitBound(float(match["percent"]) / 100, str(raw), is_share=True)

    # -- conditions

    def _conditions(self, word: str, frame: str, raw: object, keys: Sequence[str]) -> tuple[Condition, ...]:
        """`{ column = … }`; `keys` say in which unit a value is counted."""
        if not isinstance(raw, dict):
            raise self.wrong(word, f"{word} is a table of columns", 'For example { key = "retention.ms" }.')
        self._known(raw, COLUMNS[frame], f"is not a column of {frame}")
        return tuple(condition for column, spec in raw.items() for condition in self._column(frame, column, spec, keys))

    def _column(self, frame: str, column: str, spec: object, keys: Sequence[str]) -> list[Condition]:
        if isinstance(spec, list):
            spec = {"one_of": spec}
        if not isinstance(spec, dict):
            spec = {"is": spec}
        self._known(spec, OPERATORS, f"is not a comparison for {column}")
        if not spec:
            raise self.wrong(column, f"{column} is compared with nothing", f"With {', '.join(OPERATORS)}.")
        wanted = {operator: self._wanted(frame, column, operator, raw, keys) for operator, raw in spec.items()}
        null = null_of(frame, column)
        return [Condition(column, op, expected, _spelled(op, spec[op]), null) for op, expected in wanted.items()]

    def _wanted(self, frame: str, column: str, operator: str, raw: object, keys: Sequence[str]) -> tuple[Wanted, ...]:
        if operator == "set":
            if not isinstance(raw, bool):
                raise self.wrong(column, "set is true or false")
            return (raw,)
        if operator in BOUNDS:
            return (self._number_of(frame, column, operator, raw, keys),)
        items = raw if isinstance(raw, list) and operator in ("one_of", "like") else [raw]
        return tuple(self._text(frame, column, operator, item, keys) for item in items)

    def _number_of(self, frame: str, column: str, operator: str, raw: object, keys: Sequence[str]) -> float:
        if column not in NUMBERS[frame]:
            raise self.wrong(operator, f"{column} of {frame} is text, and {operator} compares numbers")
        parse = _of_quota if frame in OF_QUOTAS else parse_config_number
        return self._amount(operator, raw, lambda: parse(str(raw), keys))

    def _amount(self, word: str, raw: object, parse: Any) -> float:
        if isinstance(raw, bool) or not isinstance(raw, int | float | str):
            raise self.wrong(word, f"{word} is a number, or a text with a unit")
        number = float(self._parsed(word, parse) if isinstance(raw, str) else raw)
        if number != number:
            raise self.wrong(word, "nan cannot be a bound")
        return number

    def _text(self, frame: str, column: str, operator: str, raw: object, keys: Sequence[str]) -> Wanted:
        if not isinstance(raw, str | int | float | bool):
            raise self.wrong(column, f"{column} is compared with a text, a number, true or false")
        if column in NUMBERS[frame] and frame in OF_QUOTAS and operator != "like":
            return self._amount(column, raw, lambda: _of_quota(str(raw), keys))
        if column == "value" and frame == CLIENT_CONFIGS and operator != "like" and len(keys) == 1:
            return str(self._parsed("value", lambda: stored_value(keys[0], str(raw))))  # `all` is -1
        allowed = _KEYS.get(frame) if column == "key" else _ALLOWED_WORDS.get(column)
        if operator != "like" and allowed is not None:  # a misspelt level or key would fit nothing, for ever
            self._one_of(column, raw, tuple(allowed))
        return raw if isinstance(raw, str | bool) else float(raw)

    # -- complaints

    def _known(self, names: Iterable[str], allowed: Sequence[str], otherwise: str) -> None:
        for word in names:
            if word not in allowed:
                hint = did_you_mean(word, allowed, f"It is one of {', '.join(allowed)}.")
                raise self.wrong(word, f"{word} {otherwise}", hint)

    def _one_of(self, noun: str, raw: object, allowed: Sequence[str]) -> str:
        if isinstance(raw, str) and raw in allowed:
            return raw
        problem = "is missing" if raw is None else f"cannot be {raw}"
        listed = f"It is one of {', '.join(allowed)}."
        hint = did_you_mean(str(raw), allowed, did_you_mean(str(raw).upper(), allowed, listed))
        raise self.wrong(noun if raw is None else str(raw), f"{noun} {problem}", hint)

    def _sentence(self, word: str, raw: object) -> str:
        if not isinstance(raw, str) or not raw.strip():
            raise self.wrong(word, f"{word} is required", "It is shown when the rule is broken.")
        self._parsed(word, lambda: refuse_secret_text(f"the {word}", raw))
        return raw.strip()

    def _parsed(self, word: str, parse: Callable[[], Any]) -> Any:
        """What `parse` gives; what it complains of is wrong with this word."""
        try:
            return parse()
        except KadminError as exc:
            raise self.wrong(word, str(exc), exc.hint) from None

    def wrong(self, word: str, message: str, hint: str | None = None) -> UsageError:
        """One line: the file, the line where that can be told, the rule, and what is wrong."""
        line = self.places.line(self.rule, word)
        where = f"{self.source}:{line}" if line else self.source
        return UsageError(f"{where}: {f'rule {self.name}: ' if self.name else ''}{message}", hint=hint)


def _keys_in(where: object) -> tuple[str, ...]:
    """The keys that `where` names, as it stands there: they say in which unit values are."""
    key_condition = where.get("key") if isinstance(where, dict) else None
    if isinstance(key_condition, dict):
        key_condition = key_condition.get("is", key_condition.get("one_of"))
    return tuple(key for key in _listed(key_condition) if isinstance(key, str))


def _listed(raw: Any) -> list[Any]:
    return raw if isinstance(raw, list) else [raw]


def _spelled(operator: str, raw: object) -> str:
    """As the policy has it, for people."""
    text = ", ".join(map(said, raw)) if isinstance(raw, list) else said(raw)
    return {
        "is": text,
        "one_of": f"one of {text}",
        "like": f"like {text}",
        "at_least": f"at least {text}",
        "at_most": f"at most {text}",
        "set": "set" if raw else "not set",
    }[operator]


def _of_quota(text: str, keys: Sequence[str]) -> float:
    """A number with a unit that fits each of these quota keys.

    Raises
    ------
    UsageError, Invalid
        It does not; no key says what is counted.
    """
    values = {parse_value(key, text) for key in keys}
    if len(values) != 1:
        raise UsageError(
            f"{text}: the key is not known", hint='where = { key = "producer_byte_rate" } says what is counted.'
        )
    return values.pop()
