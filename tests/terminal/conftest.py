"""The terminal, in this process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kadmin_nb.commands import terminal
from tests.command_result import CommandResult

Kadmin = Callable[..., CommandResult]


@pytest.fixture
def kadmin(capsys: pytest.CaptureFixture[str]) -> Kadmin:
    """`kadmin("quota", "describe")` runs that line."""

    def run(*words: str) -> CommandResult:
        code = terminal.run_line(list(words))
        captured = capsys.readouterr()
        return CommandResult(code, captured.out, captured.err)

    return run


@pytest.fixture
def live(kadmin: Kadmin, kafka) -> Kadmin:
    """The same, at the local Kafka."""
    return lambda *words: kadmin(*words, "--cluster", kafka.bootstrap)
