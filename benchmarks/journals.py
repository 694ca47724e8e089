"""Journals of a bench alone: neither found among those of whoever runs it, nor left there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch


@contextmanager
def own_journals() -> Iterator[str]:
    """A folder of this bench, in which its journals are; it goes with the bench."""
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, KADMIN_STATE=folder):
        yield folder
