"""Findings in the configs of a cluster, out of CONFIGS. It asks nobody and changes nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from ..model.changes import DELETE, SET, Edit
from ..model.config_values import BrokerConfigs, ConfigValue, Synonym, behind_listener, in_unit_of
from ..model.findings import NOT_KNOWN, UNKNOWN, WARNING, Coverage, Finding, Row
from ..model.grammar import format_word, quote
from ..model.resources import BETWEEN_DISKS, OWN_SOURCE, THROTTLES, Resource, Source
from ..secrets import is_secret_name
from . import DEFAULT, DIFFERS, FINDINGS, LEFTOVER, REPEATS, THROTTLE, UNREAD

BY_NATURE = frozenset(
    {
        "broker.id",
        "node.id",
        "broker.rack",
        "process.roles",
        "listeners",
        "advertised.listeners",
        "log.dir",
        "log.dirs",
        "metadata.log.dir",
        "ssl.keystore.location",
    }
)
"""Keys that differ from broker to broker without anything being wrong; for a listener (`listener.name.x.…`) too."""

_GONE = ("UNKNOWN_TOPIC_OR_PARTITION", "RESOURCE_NOT_FOUND", "GROUP_ID_NOT_FOUND")


def findings(configs: Iterable[Row], reassigning: bool | None = None) -> list[Finding]:
    """Findings in the rows of CONFIGS of one cluster. Sensitive values are neither compared nor shown.

    Parameters
    ----------
    configs
        What `describe` answers, with the synonyms.
    reassigning
        Whether a reassignment of partitions is running; None is not known.
    """
    return _ConfigsAtOnce.of([*configs]).findings(reassigning)


def relevant(configs: pa.Table) -> pa.Table:
    """The rows that a finding can come of: what is set on a resource, all of brokers, and what could not be read."""
    kind, source = (configs[name].cast(pa.string()) for name in ("resource_type", "source"))
    own = [source_name for name, source_name in OWN_SOURCE.items() if name not in _PASSED_OVER]
    is_set_there = pc.is_in(source, pa.array(own, pa.string()))
    is_relevant = pc.or_kleene(pc.equal(kind, "BROKER"), is_set_there)
    return configs.filter(pc.or_kleene(is_relevant, pc.is_valid(configs["error"])))


_PASSED_OVER = ("BROKER", "BROKER_LOGGER")


@dataclass(frozen=True)
class _ConfigsAtOnce:
    """One cluster's configs: those of its brokers, what is set on a resource itself, and what failed."""

    brokers: BrokerConfigs
    own: Sequence[ConfigValue]
    unread: Sequence[Row]
    values: dict[str, dict[str, str | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Sequence[Row]) -> _ConfigsAtOnce:
        unread = [row for row in rows if row.get("error") is not None]
        silent = (row["resource_name"] for row in unread if row["resource_type"] == "BROKER")
        good = [ConfigValue.of(row) for row in rows if row.get("error") is None and row["key"] is not None]
        brokers = BrokerConfigs((value for value in good if value.resource.type == "BROKER"), silent)
        own = [
            value
            for value in good
            if value.text is not None and value.resource.type != "BROKER_LOGGER" and not _is_secret(value)
            and (value.is_own or (value.source == Source.FILE and value.resource.broker is not None))
        ]  # fmt: skip
        return cls(brokers, own, unread)

    def findings(self, reassigning: bool | None) -> list[Finding]:
        found = (replace(finding, coverage=self._coverage) for finding in (*self._differing(), *self._needless()))
        return sorted([*self._throttles(reassigning), *found, *self._unread()], key=_order)

    @property
    def _coverage(self) -> Coverage | None:
        """The brokers whose configs were read, of all that were asked."""
        seen = frozenset(map(int, self.brokers.names))
        unread = frozenset(int(name) for name in self.brokers.unread if name)
        return Coverage(seen, seen | unread) if seen | unread else None

    # -- throttles

    def _throttles(self, reassigning: bool | None) -> Iterator[Finding]:
        for value in self.own:
            is_between_disks = value.key == BETWEEN_DISKS and value.source != Source.FILE
            if is_between_disks or (_is_throttle(value) and reassigning is None):
                what = "disks are being moved to" if is_between_disks else "a reassignment is running"
                message = f"{_key_and_resource(value)} throttles; whether {what} is {NOT_KNOWN}"
                yield _finding(THROTTLE, value, message, op=_removal(value))
            elif _is_throttle(value) and not reassigning:
                message = f"{_key_and_resource(value)} throttles, and no reassignment is running"
                yield _finding(LEFTOVER, value, message, op=_removal(value))

    # -- brokers beside their peers

    def _differing(self) -> Iterator[Finding]:
        """Those that do not have what most have; all of them, where no value is that of most."""
        for key in sorted(self.brokers):
            values = self._values(key)
            by_nature = (behind_listener(key) or key) in BY_NATURE or key in THROTTLES["BROKER"]  # told apart elsewhere
            if len(set(values.values())) > 1 and not by_nature:
                yield self._differs(key, values)

    def _differs(self, key: str, values: Mapping[str, str | None]) -> Finding:
        """The brokers beside their peers, in one finding that names them; without a change that fixes it, where brokers
        that could not be read may have the other value."""
        (most, count), (_, second), *_ = Counter(values.values()).most_common()
        unread = [name or "<default>" for name in self.brokers.unread]
        is_certain = second + len(unread) < count
        odd = [self._at(key, name, value) for name, value in values.items() if not is_certain or value != most]
        brokers_of: dict[str, list[str]] = defaultdict(list)
        for one in odd:
            brokers_of[_value_text(one.text)].append(one.resource.name)
        phrases = (f"{text} on broker {', '.join(names)}" for text, names in brokers_of.items())
        message = f"{key} is {'; '.join(phrases)}"
        if is_certain:
            message += f"; {_value_text(most)} on {count} others"
        elif unread:
            message += f"; which of them most have is {NOT_KNOWN}: broker {', '.join(unread)} could not be read"
        ways = [(one, _alike(one, most)) for one in odd if is_certain]
        edits = [Edit(op, one.resource, key, most if op == SET else None, DIFFERS) for one, op in ways if op]
        usual = next((config.source for config in self.brokers.of_each(key).values() if config.text == most), None)
        evidence = {
            "resource_name": ", ".join(one.resource.name for one in odd),
            "value": odd[0].text if len(brokers_of) == 1 else None,
            "source": odd[0].source if len({one.source for one in odd}) == 1 else None,
            **({"expected": most, "expected_source": usual} if is_certain else {}),
        }
        fix = "\n".join(map(fixing_line, edits)) or None
        found = Finding(DIFFERS, WARNING, message, odd[0].resource, key, evidence=evidence, fix=fix)
        return replace(found, edit=next(iter(edits), None), further=tuple(edits[1:]))

    def _values(self, key: str) -> dict[str, str | None]:
        """The value in use on each broker, as far as it is known, None where it is not set; no secrets."""
        if key not in self.values:
            configs = self.brokers.of_each(key)
            secret = any(map(_is_secret, configs.values()))
            of_all = self.brokers.of_all(key)
            synonyms = (synonym for value in configs.values() for synonym in value.synonyms)
            built_in = (one.text for one in synonyms if (one.source, one.key) == (Source.BUILT_IN, key))
            # what a broker has that sets nothing itself: the default for all, or the default that its peers name
            otherwise = next(built_in, None) if of_all is None else str(of_all.text)
            known = configs if otherwise is None else self.brokers.names
            names = [] if secret else [name for name in self.brokers.names if name in known]
            self.values[key] = {name: configs[name].text if name in configs else otherwise for name in names}
        return self.values[key]

    def _at(self, key: str, name: str, text: str | None) -> ConfigValue:
        """The value of a broker, or what stands for one that it lacks."""
        config = self.brokers.of_each(key).get(name)
        return ConfigValue(Resource("BROKER", name), key, text) if config is None else replace(config, text=text)

    # -- what is set without need

    def _needless(self) -> Iterator[Finding]:
        for value in self.own:
            below = None if _is_throttle(value) or value.resource.is_internal else self._below(value)
            if below and value.text == in_unit_of(value.key, below):
                yield _needless(value, below)

    def _below(self, value: ConfigValue) -> Synonym | None:
        """The value if it were not set there, as far as that is certain."""
        below = value.below(value.source or value.resource.source)
        if below is None or value.resource.type not in ("TOPIC", "GROUP"):
            return below
        is_of_all = not self.brokers.unread and len(set(self._values(below.key).values())) < 2
        return below if is_of_all else None

    # -- what nobody could see

    def _unread(self) -> Iterator[Finding]:
        for row in self.unread:
            if row["error"] not in _GONE:
                words = f": {row['message']}" if row.get("message") else ""
                resource = Resource(row["resource_type"], row["resource_name"])
                message = f"{resource} could not be read, {row['error']}{words}"
                if resource.type == "BROKER":
                    message += f"; whether it is like the others, and what repeats its defaults, is {NOT_KNOWN}"
                yield Finding(UNREAD, UNKNOWN, message, resource, row["key"] or "", evidence={"error": row["error"]})


def _order(finding: Finding) -> tuple[object, ...]:
    resource = cast(Resource, finding.target)
    return [*FINDINGS].index(finding.code), finding.edit is None, resource.type, resource.name, finding.key


def _is_secret(value: ConfigValue) -> bool:
    return value.is_sensitive or is_secret_name(value.key)


def _is_throttle(value: ConfigValue) -> bool:
    return value.key in THROTTLES.get(value.resource.type, ()) and bool(value.text)


def _needless(value: ConfigValue, below: Synonym) -> Finding:
    if below.source == Source.BUILT_IN:
        word, says = DEFAULT, "Kafka's default"
    else:
        word, says = REPEATS, f"the same as {_where(below)}"
    unit = "" if below.key == value.key else f" ({below.key}={below.text})"
    message = f"{_key_and_resource(value)} is {value.text}, {says}{unit}"
    if value.source == Source.FILE:
        message += "; it is set in its server.properties"
    return _finding(word, value, message, value.text, below.source, _removal(value))


def _where(below: Synonym) -> str:
    places = {Source.ALL_BROKERS: "the default of all brokers", Source.FILE: "server.properties"}
    return places.get(below.source, "the value of the broker")


def _finding(
    word: str,
    value: ConfigValue,
    message: str,
    expected: str | None = None,
    source: Source | None = None,
    op: str | None = None,
) -> Finding:
    evidence = {"value": value.text, "source": value.source, "expected": expected, "expected_source": source}
    edit = Edit(op, value.resource, value.key, expected if op == SET else None, word) if op else None
    fix = fixing_line(edit) if edit else None
    return Finding(word, WARNING, message, value.resource, value.key, evidence=evidence, edit=edit, fix=fix)


def fixing_line(edit: Edit) -> str:
    """The line that makes a change of a config, after `kadmin-nb`."""
    if edit.text is None:
        return f"config reset {quote(edit.key)} {edit.resource}"
    return f"config set {format_word(edit.key, edit.text)} {edit.resource}"


def _removal(value: ConfigValue) -> str | None:
    """The operation that takes a value away; none for what stands in a broker's file."""
    return None if value.source == Source.FILE else DELETE


def _value_text(value: str | None) -> str:
    return "not set" if value is None else value or "empty"


def _alike(config: ConfigValue, usual: str | None) -> str | None:
    """The operation that makes a broker like its peers, where one can."""
    below = config.inherited
    if config.is_own and (below.text if below and below.key == config.key else None) == usual:
        return _removal(config)
    return SET if config.is_read_only is False and usual else None


def _key_and_resource(value: ConfigValue) -> str:
    return f"{value.key} of {value.resource}"
