"""The fates of a request log's lines, counted: requests, duplicates, left out, or impossible to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import Invalid, KadminError, NotFound, UsageError, printable
from .request_rows import DAMAGED, NO_BROKER, NO_ZONE

SAMPLE = 20
"""Requests that are looked at before anything else is read."""


@dataclass(frozen=True)
class Counts:
    """The counts of a request log's lines, by their fate.

    `lines` = `requests` + `duplicates` + those `left_out` + those `quarantined`, both by reason; the rest of a
    `damaged` file counts as one line. `ambiguous` are the requests in the hour that a clock put back passes twice,
    `unsized` those PRODUCE, FETCH and SHARE_FETCH whose bytes the log does not tell; of SHARE_FETCH it never does.
    """

    lines: int
    requests: int
    duplicates: int
    left_out: Mapping[str, int]
    quarantined: Mapping[str, int]
    ambiguous: int
    unsized: int
    damaged: tuple[str, ...] = ()
    tz: str | None = field(default=None, repr=False)

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]], damaged: Sequence[str], tz: str | None) -> Counts:
        """Out of rows with a `fault`, a `reason`, and the measures of `request_log.TALLY`."""
        rows = [row for row in rows if row["lines"]]
        good = [row for row in rows if row["fault"] is None]
        of_clients = [row for row in good if row["reason"] is None]
        return cls(
            lines=_total(rows, "lines") + len(damaged),
            requests=_total(of_clients, "requests"),
            duplicates=_total(good, "lines") - _total(good, "requests"),
            left_out={row["reason"]: row["requests"] for row in good if row["reason"] is not None},
            quarantined=_quarantined(rows, damaged),
            ambiguous=_total(of_clients, "ambiguous"),
            unsized=_total(of_clients, "unsized"),
            damaged=tuple(damaged),
            tz=tz,
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the figures."""
        quarantined = sum(self.quarantined.values())
        texts = (
            (
                quarantined,
                f"{quarantined:,} of {self.lines:,} lines are not requests: `.quarantine` or --quarantine has them",
            ),
            (
                self.ambiguous,
                f"{self.ambiguous:,} requests fell into the hour that {self.tz} passes twice: the first is taken",
            ),
            (
                self.unsized,
                f"{self.unsized:,} PRODUCE, FETCH or SHARE_FETCH do not tell their bytes, which are not counted",
            ),
        )
        return (*damage_warnings(self.damaged), *(f"WARNING: {text}" for count, text in texts if count))


def damage_warnings(damaged: Iterable[str]) -> tuple[str, ...]:
    """A line for each file that could not be read to its end."""
    return tuple(f"WARNING: {file} is damaged: only what comes before that was read" for file in damaged)


def _total(rows: Iterable[Mapping[str, Any]], column: str) -> int:
    return sum(row[column] for row in rows)


def _quarantined(rows: Iterable[Mapping[str, Any]], damaged: Sequence[str]) -> Counter[str]:
    """The lines that could not be read, by what is wrong with them."""
    quarantined = Counter({DAMAGED: len(damaged)} if damaged else {})
    for row in rows:
        if row["fault"] is not None:
            quarantined[row["fault"]] += row["lines"]
    return quarantined


def refuse_sample(sampled: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a log of whose first requests none can be read; `path`, `connection` and `fault` of each.

    Raises
    ------
    UsageError
        The times need a zone, or no broker has the address of a connection.
    Invalid
        None can be read.
    """
    faults = {row["fault"]: row for row in reversed(sampled)}
    if NO_ZONE in faults:
        problem = f"the times in {faults[NO_ZONE]['path']} have no offset"
        raise UsageError(problem, hint="Say tz='Europe/Berlin', or tz='UTC'.")
    if NO_BROKER in faults:
        raise UsageError(
            f"no broker has the local address of the connection {faults[NO_BROKER]['connection']}",
            hint="The brokers' host is to be the address that clients connect to, as the broker sees it.",
        )
    if None not in faults:
        raise Invalid(f"no request in {sampled[0]['path']} can be read: {sampled[0]['fault']}")


_WRITTEN_AT = (
    "kafka.request.logger writes all requests at DEBUG or TRACE; from Kafka 3.9.1 on, at INFO, those of deprecated"
    " versions only."
)


def no_request(first: tuple[str, str] | None, source: str) -> KadminError:
    """The error of a log without a request: the path and text of its first line, or that there is none."""
    if first is None:
        return NotFound(f"no line in {source}", hint=_WRITTEN_AT)
    path, line = first
    return Invalid(
        f"{path} is not a request log of Kafka: {printable(line[:80])}", hint="kafka.request.logger writes it."
    )
