"""A look at runs of the past: one whose processes are gone without a word is told so, and gets its page."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

from ..errors import KadminError, NotFound
from ..hints import plan_verb, terminal
from .page import write_page
from .run_record import APPLYING, WITHOUT_A_WORD, RunError, RunRecord

_MOST = 100
"""Documents of a folder, the newest, that are looked at before a run."""


def look_at(path: Path) -> RunRecord:
    """The record in this file, which is settled.

    Raises
    ------
    NotFound, Invalid
        There is no such file; it is something else.
    """
    record = RunRecord.read(path)
    if record is None:
        raise NotFound(f"no such record: {path}")
    return _settled(path, record)


def settle(folder: Path) -> None:
    """Settle the runs in this folder that ended without a word: a run that ended in any other way has a page."""
    documents = [path for path in folder.glob("*.ipynb") if not path.with_suffix(".html").exists()]
    for document in sorted(documents, key=_written, reverse=True)[:_MOST]:
        with contextlib.suppress(KadminError):  # a file of somebody else's is no reason not to run
            look_at(document.with_suffix(".json"))


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _settled(path: Path, record: RunRecord) -> RunRecord:
    """The record; of a run that ended without a word it says so from now on, and the page is made of what there is."""
    is_abandoned = record.ok is None and record.processes and all(one.is_gone for one in record.processes)
    if not is_abandoned:
        return record
    hint = "Nothing was sent. Run it again."
    if record.state == APPLYING:
        hint = f"{terminal(plan_verb('apply', str(record.plan_id)))} continues it, and says what was sent."
    elif record.changed:
        hint = "The rows were sent: run it again, which changes nothing that is there already."
    last = record.processes[-1]
    error = RunError(WITHOUT_A_WORD, f"its process {last.pid} on {last.host} is gone", hint=hint)
    settled = replace(record, ok=False, error=error)
    settled.write(path)
    write_page(path.with_suffix(".ipynb"), path)
    return settled
