"""The terminal's door, in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from kadmin_nb.commands import terminal


@dataclass(frozen=True)
class Said:
    """What one command line answered."""

    code: int
    out: str
    err: str


Door = Callable[..., Said]


@pytest.fixture
def kadmin(capsys: pytest.CaptureFixture[str]) -> Door:
    """`kadmin("quota", "describe")` runs that line."""

    def run(*words: str) -> Said:
        code = terminal._run(list(words))
        captured = capsys.readouterr()
        return Said(code, captured.out, captured.err)

    return run


@pytest.fixture
def live(kadmin: Door, kafka) -> Door:
    """The same, at the local Kafka."""
    return lambda *words: kadmin(*words, "--cluster", kafka.bootstrap)
