"""The record of a run: one JSON file beside the document."""

from __future__ import annotations

import builtins
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

from .. import documents, errors, files
from ..errors import Invalid, KadminError, PartlyFailed, printable
from ..frames import schemas
from ..frames.answer import Answer
from ..frames.schemas import now
from ..hints import Hint, plan_verb, sentence, short_id

FORMAT = 1
LARGEST = 1 << 28
"""Bytes of a record: it has the rows of the plan and their outcomes."""

STARTED, PLANNED, APPLYING = "started", "planned", "applying"
NOTHING, APPLIED, FAILED = "nothing to do", "applied", "failed"
FINISHED = "finished"
"""The launcher's record of a notebook that keeps none itself."""

Kept = TypeVar("Kept")
_CHANGE = ("row", "op", "resource", "key", "old", "after")


@dataclass(frozen=True)
class RunError:
    """An error as a part of a record."""

    type: str
    message: str
    code: str | None = None
    hint: str | None = None

    @classmethod
    def of(cls, exc: BaseException) -> RunError:
        """This error; one that is not ours has neither code nor hint."""
        code, hint = (exc.code, exc.hint) if isinstance(exc, KadminError) else (None, None)
        return cls(type(exc).__name__, str(exc), code, None if hint is None else str(hint))

    @property
    def kind(self) -> builtins.type[KadminError] | None:
        """Our class of that name; None where the error is not one of ours."""
        kind = getattr(errors, self.type, None)
        return kind if isinstance(kind, type) and issubclass(kind, KadminError) else None


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """What is known of a run: ids, PLAN and OUTCOMES rows, the error if it has one.

    `ok` is None until the run has ended, and of one that was killed; `started` until the notebook keeps it; `changed`
    while nobody knows.
    """

    format: int = FORMAT
    runbook: str
    state: str
    ok: bool | None
    written: str = field(default_factory=now)
    parameters: dict[str, Any]
    changed: bool | None = False
    started: str | None = None
    cluster_id: str | None = None
    plan_id: str | None = None
    changes_id: str | None = None
    reason: str | None = None
    plan: list[dict[str, Any]] = field(default_factory=list)
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    journal: str | None = None
    chain_head: str | None = None
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    error: RunError | None = None

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """The record in this file; None without one."""
        return record_in(path, cls, "the record of a run")

    def write(self, path: Path) -> None:
        """Put it in its place, whole.

        Raises
        ------
        NotFound, Invalid
            It cannot be written there.
        """
        files.write(path, to_json(self) + "\n")

    def rows(self) -> Answer:
        """The outcome of each row; before anything was applied, the rows that were planned."""
        if self.outcomes:
            return Answer(schemas.table(schemas.OUTCOMES, self.outcomes).select([*_CHANGE, "state", "message"]))
        return Answer(schemas.table(schemas.PLAN, self.plan).select([*_CHANGE, "validated", "note"]))


def counted_states(outcomes: Iterable[dict[str, Any]]) -> str:
    """The numbers of rows in each state: `2 verified, 1 failed`."""
    return ", ".join(f"{count} {state}" for state, count in Counter(row["state"] for row in outcomes).items())


def record_in(path: Path, kind: type[Kept], called: str) -> Kept | None:
    """The record of this kind in a file; None without a file.

    Raises
    ------
    Invalid
        It is something else; the message has the field.
    """
    if not path.exists():
        return None
    try:
        return documents.as_type(documents.from_json(files.read(path, called, LARGEST).decode()), kind)
    except ValueError as error:
        raise Invalid(printable(f"{path} is not {called}: {error}")) from None


def to_json(record: object) -> str:
    """A record as JSON."""
    return json.dumps(vars(record), allow_nan=False, indent=1, default=_plain)


def _plain(value: Any) -> object:
    return vars(value) if isinstance(value, RunError) else str(value)


def sent_in_part(error: KadminError, plan_id: str) -> PartlyFailed:
    """The error of a run that may have changed the cluster, and cannot be saved, or whose kernel died."""
    ways = [plan_verb(name, plan_id) for name in ("log", "apply", "rollback")]
    return PartlyFailed(
        f"{error}; plan {short_id(plan_id)} may have been sent in part",
        code=error.code,
        hint=Hint(sentence("{} shows what was sent, {} continues, {} undoes it.", *ways)),
    )
