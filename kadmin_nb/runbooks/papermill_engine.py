"""The papermill engine of our documents: this very Python, no widget state, documents written whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import zmq
from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NBClientEngine, papermill_engines
from papermill.iorw import LocalHandler, papermill_io
from papermill.log import logger
from traitlets.config import Config

from .. import files

NAME = "kadmin_nb"
SCHEME = "kadmin-nb:"
"""The prefix of a document's path, for papermill to save it through `Documents`."""


class Engine(NBClientEngine):  # type: ignore[misc]
    """papermill's own engine with the kernel of this interpreter, registered or not.

    Between us and the kernel nothing goes in the clear, where zmq can: other users share the loopback.
    """

    @classmethod
    def execute_managed_notebook(
        cls, nb_man: Any, kernel_name: str, *, environment: dict[str, str], **options: Any
    ) -> Any:
        """Run the cells in a kernel of this Python, whatever kernels are registered, with this environment on top."""
        fixed = {name: value.replace("$", "$$") for name, value in environment.items()}
        spec = KernelSpec(**{**get_kernel_dict(), "env": fixed})
        own_kernel = type("OwnKernel", (AsyncKernelManager,), {"kernel_spec": property(lambda self: spec)})
        client = PapermillNotebookClient(
            nb_man,
            kernel_name=kernel_name,
            kernel_manager_class=own_kernel,
            config=Config({"KernelManager": {"transport_encryption": "auto"}} if zmq.has("curve") else {}),
            store_widget_state=False,
            startup_timeout=options["start_timeout"],
            log=logger,
        )
        return client.execute()


papermill_engines.register(NAME, Engine)


class Documents(LocalHandler):  # type: ignore[misc]
    """Files that are written whole, at every save."""

    def write(self, buf: str, path: str) -> None:
        files.write(Path(path.removeprefix(SCHEME)), buf)


papermill_io.register(SCHEME, Documents())
