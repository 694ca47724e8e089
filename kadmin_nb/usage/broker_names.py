"""The broker that wrote a line: an id, a group of a pattern on the path, or the local address of the connection."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UsageError
from ..resolution.input_columns import read_columns

BROKER_HINT = r"Say broker=3, a pattern such as r'broker-(\d+)/', or a frame with id, host, port."
_BROKER = pa.int32()
_LOCAL = r"^(?P<host>.*):(?P<port>\d+)-.*:\d+-\d+(?:-\d+)?$"
_GROUP_NAME = re.compile(r"\(\?<(?=[A-Za-z])")
"""As Java spells it; Python wants a P."""


@dataclass(frozen=True)
class OneBroker:
    """All lines are of this broker."""

    id: int

    def brokers(self, paths: pa.Array, connections: pa.Array) -> pa.Array:
        """The broker of each line."""
        return pa.repeat(pa.scalar(self.id, _BROKER), len(paths))

    def check(self, paths: Iterable[str]) -> None:
        """Any path will do."""


@dataclass(frozen=True)
class BrokerInPath:
    """The first group of the pattern is the broker's id."""

    pattern: str

    def brokers(self, paths: pa.Array, connections: pa.Array) -> pa.Array:
        """The broker of each line; null where its path has none."""
        each = paths.dictionary_encode()
        ids = pa.array(map(self._id, each.dictionary.to_pylist()), _BROKER)
        return ids.take(each.indices)

    def check(self, paths: Iterable[str]) -> None:
        """Refuse a path without a broker, and a pattern that can find none.

        Raises
        ------
        UsageError
        """
        for path in paths:
            if self._id(path) is None:
                problem = f"the path {path} does not match {self.pattern}, which is to say its broker"
                raise UsageError(problem, hint=BROKER_HINT)

    def _id(self, path: str | None) -> int | None:
        found = self._compiled().search(path or "")
        digits = found[1] if found else None
        return int(digits) if digits and digits.isdecimal() and int(digits) < 1 << 31 else None

    def _compiled(self) -> re.Pattern[str]:
        try:
            pattern = re.compile(_GROUP_NAME.sub("(?P<", self.pattern), re.ASCII)
        except re.error:
            pattern = re.compile("")
        if not pattern.groups:
            raise UsageError(f"{self.pattern} is not a regular expression with a group", hint=BROKER_HINT)
        return pattern


@dataclass(frozen=True)
class BrokerByAddress:
    """Broker ids by `host`, or by `host:port` where a host has several."""

    addresses: dict[str, int]
    with_port: bool

    @classmethod
    def of(cls, brokers: Any) -> BrokerByAddress:
        """Out of a frame with `id`, `host` and `port`."""
        rows = read_columns(brokers, ("id", "host", "port"), "the brokers").to_pylist()
        hosts = [_as_java_writes_it(row["host"]) for row in rows]
        with_port = len(set(hosts)) < len(hosts)
        addresses = (f"{host}:{row['port']}" if with_port else host for host, row in zip(hosts, rows, strict=True))
        return cls(dict(zip(addresses, (row["id"] for row in rows), strict=True)), with_port)

    def brokers(self, paths: pa.Array, connections: pa.Array) -> pa.Array:
        """The broker of each line; null where no broker has the connection's local address."""
        local = pc.extract_regex(connections, _LOCAL)
        host, port = (pc.struct_field(local, name) for name in ("host", "port"))
        address = pc.binary_join_element_wise(host, port, ":") if self.with_port else host
        places = pc.index_in(address, pa.array(self.addresses, pa.string()), skip_nulls=True)
        return pa.array(self.addresses.values(), _BROKER).take(places)

    def check(self, paths: Iterable[str]) -> None:
        """Any path will do."""


BrokerNames = OneBroker | BrokerInPath | BrokerByAddress


def broker_names(broker: Any) -> BrokerNames:
    """The way that `broker` says it: an id, a pattern, or a frame.

    Raises
    ------
    UsageError
        Nothing is said, or the frame is none.
    """
    if broker is None:
        raise UsageError("nobody said which broker wrote the log", hint=BROKER_HINT)
    if isinstance(broker, int):
        return OneBroker(broker)
    return BrokerInPath(broker) if isinstance(broker, str) else BrokerByAddress.of(broker)


def _as_java_writes_it(host: str) -> str:
    """An address as Java writes it: IPv6 in full, without leading zeros."""
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return host
    if ip.version == 4:
        return host
    return ":".join(f"{int(part, 16):x}" for part in ip.exploded.split(":"))
