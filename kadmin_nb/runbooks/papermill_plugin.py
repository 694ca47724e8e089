"""What papermill loads of us by itself: it tells the kernel of a runbook where its record goes, beside the document.

A kernel does not learn where its document is: papermill tells it only if it is asked to (`--inject-output-path`), and
Airflow's PapermillOperator cannot ask. So papermill's own engine is replaced by one that is the same but for one
variable in the environment of kernels that run a runbook of ours; every other notebook runs as before.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from jupyter_client.manager import AsyncKernelManager
from papermill.engines import NBClientEngine, papermill_engines
from papermill.iorw import LocalHandler, papermill_io

PLACE = "KADMIN_RUNBOOK_RECORD"
"""As in `run_record`, which takes long to load: papermill loads this for every notebook."""

_MARK = "runbooks.record("


class Engine(NBClientEngine):  # type: ignore[misc]
    """papermill's own engine, which tells a runbook where its record goes."""

    @classmethod
    def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **options: Any) -> Any:
        """Run the cells; a runbook's in a kernel that knows the place of the record."""
        place = _place(nb_man.output_path)
        if place and PLACE not in os.environ and any(_MARK in cell.source for cell in nb_man.nb.cells):
            options.setdefault("kernel_manager_class", _knowing(place))
        return super().execute_managed_notebook(nb_man, kernel_name, **options)


def _place(document: str | None) -> Path | None:
    """The place of the record, where the document is a file of this machine."""
    if not document or document == "-":
        return None
    handler = papermill_io.get_handler(document)
    if not isinstance(handler, LocalHandler):
        return None
    return Path(handler._cwd or Path.cwd(), document).with_suffix(".json")


def _knowing(place: Path) -> type[AsyncKernelManager]:
    """Kernels with that place in their environment."""

    class Knowing(AsyncKernelManager):
        def start_kernel(self, **options: Any) -> Any:
            env = {**(options.pop("env", None) or os.environ), PLACE: str(place)}
            return super().start_kernel(env=env, **options)

    return Knowing


papermill_engines.register(None, Engine)
