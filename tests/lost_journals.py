"""Plans whose journal can no longer be written while they run: what was sent stays, and is not in it."""

from __future__ import annotations

import errno

import pytest

from kadmin_nb.admin.ports import UNSIGNED
from kadmin_nb.plans import sending
from kadmin_nb.plans.journal.storage import AppendedFile


def lose_each_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on the journal of each plan takes no record as soon as a request of it was answered."""
    real = sending.Batch.send

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def send(batch, *words, **options):
        answers = real(batch, *words, **options)
        if options.get("signature", UNSIGNED).plan_id:
            monkeypatch.setattr(AppendedFile, "append", full)
        return answers

    monkeypatch.setattr(sending.Batch, "send", send)
