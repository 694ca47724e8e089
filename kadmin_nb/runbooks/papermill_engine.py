"""The papermill engine of our documents: this very Python, no widget state, no home folder in what is written."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import zmq
from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import run_sync
from nbclient.exceptions import DeadKernelError
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NBClientEngine, papermill_engines
from papermill.iorw import LocalHandler, papermill_io
from papermill.log import logger
from traitlets.config import Config

from .. import files
from . import run_record

NAME = "kadmin_nb"
SCHEME = "kadmin-nb:"
"""The prefix of a document's path, for papermill to save it through `Documents`."""

LONGEST_ANSWER = 10.0
"""Seconds that a kernel may take to be idle after its last answer."""

LAST_WORDS = 10_000
"""Bytes that are shown of what a kernel wrote before it died."""


class Engine(NBClientEngine):  # type: ignore[misc]
    """papermill's own engine with the kernel of this interpreter, registered or not, and clean metadata.

    Between us and the kernel nothing goes in the clear, where zmq can: other users share the loopback.
    """

    @classmethod
    def execute_notebook(cls, nb: Any, kernel_name: str, output_path: str | None = None, **options: Any) -> Any:
        """Clean the document before its first save: a killed run leaves it in that state."""
        clean(nb)
        return super().execute_notebook(nb, kernel_name, output_path, **options)

    @classmethod
    def execute_managed_notebook(
        cls, nb_man: Any, kernel_name: str, *, environment: dict[str, str], **options: Any
    ) -> Any:
        """Run the cells in a kernel of this Python, whatever kernels are registered, with this environment on top."""
        fixed = {name: value.replace("$", "$$") for name, value in environment.items()}
        spec = KernelSpec(**{**get_kernel_dict(), "env": fixed})
        own_kernel = type("OwnKernel", (AsyncKernelManager,), {"kernel_spec": property(lambda self: spec)})
        client = Client(
            nb_man,
            kernel_name=kernel_name,
            kernel_manager_class=own_kernel,
            config=Config({"KernelManager": {"transport_encryption": "auto"}} if zmq.has("curve") else {}),
            store_widget_state=False,
            startup_timeout=options["start_timeout"],
            log=logger,
        )
        with _shown_if_it_dies() as stderr:
            return client.execute(stderr=stderr)


papermill_engines.register(NAME, Engine)


class Client(PapermillNotebookClient):  # type: ignore[misc]
    """papermill's client, which ends a kernel when it is idle: one that still answers prints that it is interrupted."""

    async def async_wait_for_reply(self, msg_id: str, cell: Any = None) -> Any:
        reply = await super().async_wait_for_reply(msg_id, cell)
        if reply is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wait_until_idle(msg_id), LONGEST_ANSWER)
        return reply

    wait_for_reply = run_sync(async_wait_for_reply)

    async def _wait_until_idle(self, msg_id: str) -> None:
        while not _says_idle(await self.kc.get_iopub_msg(), msg_id):
            pass


def _says_idle(message: dict[str, Any], msg_id: str) -> bool:
    """True if the kernel has nothing more to do for this request."""
    is_answer = bool(message["parent_header"].get("msg_id") == msg_id)
    return is_answer and message["content"] == {"execution_state": "idle"}


@contextmanager
def _shown_if_it_dies() -> Iterator[IO[str]]:
    """A kernel's own standard error, not its cells': the end of it is shown if the kernel dies; else it is noise."""
    with tempfile.TemporaryFile("w+", errors="replace") as stderr:
        try:
            yield stderr
        except DeadKernelError:
            stderr.seek(max(0, stderr.seek(0, os.SEEK_END) - LAST_WORDS))
            sys.stderr.write(stderr.read())
            raise


def clean(document: Any) -> None:
    """Leave file names instead of papermill's paths in a document's metadata."""
    mill = document.metadata.get("papermill", {})
    for name in ("input_path", "output_path"):
        if mill.get(name):
            mill[name] = Path(mill[name]).name


class Documents(LocalHandler):  # type: ignore[misc]
    """Files with `~` in place of the home folder, at every save: in parameters, outputs, tracebacks, metadata."""

    def write(self, buf: str, path: str) -> None:
        files.write(Path(path.removeprefix(SCHEME)), run_record.without_home(buf))


papermill_io.register(SCHEME, Documents())
