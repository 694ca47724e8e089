"""Databricks, whose session and disks are other than a machine's own: whether we are there."""

from __future__ import annotations

import os

VERSION = "DATABRICKS_RUNTIME_VERSION"
"""Set on its clusters (`17.3`) and on its serverless compute (`client.4.9`), and nowhere else."""

VOLUMES = "/Volumes"
"""Below it are files that outlive the compute. Whole ones are written there; nothing is appended."""


def is_here() -> bool:
    """True if this process runs on Databricks' own compute; Databricks Connect on a laptop does not."""
    return bool(os.environ.get(VERSION))
