"""The next step after a run that only planned: the parameters that apply it, or the cause for which none does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..hints import Option, Runbook
from ..plans.advice import REASON
from .run_record import PLANNED, SHORT_ID


def next_step(record: Mapping[str, Any]) -> str:
    """One sentence by the record of a run; empty where nothing was planned, or the runbook cannot apply it."""
    if record["state"] != PLANNED or "apply" not in record["parameters"]:
        return ""
    if obstacle := _obstacle(record):
        return obstacle
    instead = [*_parameters_instead(record)]
    in_place = f", and in place of yours {' '.join(instead)}" if instead else ""
    return f"To apply it, run it again with {' '.join(_parameters(record))}{in_place}"


def _obstacle(record: Mapping[str, Any]) -> str:
    """The cause for which no parameter applies what was planned."""
    if (expires := record.get("expires")) and expires < record["written"]:
        return f"It expired {expires[:19]}Z: plan again, unless it was begun before that"
    if _lacks_reason(record) and REASON.name not in record["parameters"]:
        return "It is dangerous, and was made without a reason, which applying it needs: plan again with one"
    return ""


def _parameters(record: Mapping[str, Any]) -> Iterator[str]:
    """The parameters that have to be given besides those of the run before."""
    yield "-p apply=true"
    if "changes_id" in record["parameters"]:
        yield f"-p changes_id={record['changes_id'][:SHORT_ID]}"
    if not record["parameters"].get("allow"):
        yield from _allowing(record)
    if _lacks_reason(record):
        yield Runbook(record["parameters"])(REASON) or ""


def _parameters_instead(record: Mapping[str, Any]) -> Iterator[str]:
    """Those that take the place of others: none may be given twice, and the plan of the run before was saved."""
    if record["parameters"].get("allow"):
        yield from _allowing(record)
    if record["parameters"].get("save"):
        yield "-p save="


def _allowing(record: Mapping[str, Any]) -> Iterator[str]:
    if allowed := _keys_to_allow(record):
        yield Runbook(record["parameters"])(Option("allow", allowed)) or ""


def _keys_to_allow(record: Mapping[str, Any]) -> list[str]:
    """The value of `allow` that lets every danger through; empty where the run had it, or has no such parameter."""
    given, keys = record["parameters"].get("allow"), [danger["key"] for danger in record.get("dangers", ())]
    return [] if given is None or {*keys} <= {*given} else list(dict.fromkeys([*given, *keys]))


def _lacks_reason(record: Mapping[str, Any]) -> bool:
    return bool(record.get("dangers")) and not record.get("reason")
