"""A real IPython shell with the magics in it."""

from __future__ import annotations

import atexit
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
from traitlets.config import Config

import kadmin_nb as kn


class Notebook:
    """Runs cells; keeps what was displayed beside the value of the last."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.displayed: list[Any] = []

    def cell(self, text: str) -> ExecutionResult:
        """Run a cell as typed."""
        publisher = self.shell.display_pub = CapturingDisplayPublisher()
        result = self.shell.run_cell(text, store_history=False)
        self.displayed = publisher.outputs
        return result

    def __call__(self, text: str) -> Any:
        """The value of a cell; its error is raised."""
        result = self.cell(text)
        result.raise_error()
        return result.result

    def refused(self, text: str, kind: type[kn.KadminError] = kn.KadminError) -> kn.KadminError:
        """The error of a cell that must fail with one of ours."""
        error = self.cell(text).error_in_exec
        assert isinstance(error, kind), f"{text} gave {error!r}"
        return error

    def __setitem__(self, name: str, value: object) -> None:
        self.shell.user_ns[name] = value

    def __getitem__(self, name: str) -> Any:
        return self.shell.user_ns[name]


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    """A shell with the extension loaded and no cluster."""
    InteractiveShell.clear_instance()
    config = Config({"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": "nocolor"}})
    shell = InteractiveShell.instance(config=config)
    shell.run_line_magic("load_ext", "kadmin_nb")
    yield Notebook(shell)
    ours = shell.magics_manager.registry["KAdmin"]
    ours.leave()
    atexit.unregister(ours.leave)
    atexit.unregister(shell.atexit_operations)  # each would collect all garbage when pytest ends
    InteractiveShell.clear_instance()


@pytest.fixture
def live(notebook: Notebook, kafka: kn.local.LocalKafka) -> Notebook:
    """The same, with the local Kafka as the current cluster."""
    notebook(f"%kadmin use {kafka.bootstrap}")
    return notebook


@pytest.fixture
def name() -> Callable[[str], str]:
    """Names that nothing else on this Kafka has."""
    return lambda stem: f"{stem}-{uuid.uuid4().hex[:8]}"
