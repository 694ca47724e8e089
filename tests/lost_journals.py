"""Plans whose journal is lost while they run: their rows are sent, and can be neither resumed nor rolled back."""

from __future__ import annotations

import pytest

from kadmin_nb.admin.ports import UNSIGNED
from kadmin_nb.plans import sending
from kadmin_nb.plans.journal.store import journals


def lose_each_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on the journal of each plan is gone as soon as a request of it was answered."""
    real = sending.Batch.send

    def send(batch, *words, **options):
        answers = real(batch, *words, **options)
        if plan_id := options.get("signature", UNSIGNED).plan_id:
            journals().find(plan_id).place.unlink()
        return answers

    monkeypatch.setattr(sending.Batch, "send", send)
