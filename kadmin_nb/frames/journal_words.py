"""What a record of a plan's journal says, in words; frames keep the records as they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from ..hints import short_id

Record = Mapping[str, Any]
"""The columns of a record, and what it says beside them."""


def what_was_done(journal: pa.Table) -> list[str]:
    """One sentence per record of a JOURNAL; the record itself if a later version wrote it."""
    return [_sentence(record) for record in journal.select(["kind", "run", "rows", "details"]).to_pylist()]


def _sentence(record: Record) -> str:
    try:
        details = json.loads(record["details"] or "{}")
        return _SENTENCES[record["kind"]]({**record, **details})
    except (LookupError, TypeError, ValueError, AttributeError):
        return f"{record['kind']} {record['details'] or ''}".strip()


def _planned(record: Record) -> str:
    return f"plan {short_id(record['id'])}, as applied"


def _begun(record: Record) -> str:
    allowed = ", ".join(record.get("allowed") or ())
    return f"run {record['run']} started, by {record['author']}" + (f"; dangers allowed: {allowed}" if allowed else "")


def _answered(record: Record) -> str:
    refused = record["refused"]
    if not refused:
        return f"the broker accepted {_rows(record['rows'])}"
    why = "; ".join(f"row {row}: {answer}" for row, answer in refused.items())
    return f"the broker answered {_rows(record['rows'])}; refused or without an answer: {why}"


def _settled(record: Record) -> str:
    found = (("made after all", record["landed"]), ("unknown", record["unknown"]))
    return "; ".join(f"{word}: {_rows(rows)}" for word, rows in found if rows) or "nothing is known yet"


def _ended(record: Record) -> str:
    states = ", ".join(f"{_rows(rows)} {state}" for state, rows in record["states"].items())
    return f"run {record['run']} ended: {states}" + (f"; {record['overtaken']}" if record.get("overtaken") else "")


_SENTENCES: Mapping[str, Callable[[Record], str]] = {
    "plan": _planned,
    "run": _begun,
    "intent": lambda record: f"about to send {_rows(record['rows'])}",
    "outcome": _answered,
    "settled": _settled,
    "end": _ended,
    "undone": lambda record: f"rolled back by plan {short_id(record['by'])}, by {record['author']}",
    "seen": lambda record: f"{record['author']} saw {_rows(record['rows'])} on every broker",
}


def _rows(ranges: str) -> str:
    """`1` as *row 1*, `1-3,5` as *rows 1-3, 5*."""
    return f"row{'s' * (not ranges.isdigit())} {ranges.replace(',', ', ')}"
