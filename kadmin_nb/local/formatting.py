"""The empty metadata log that a node starts from: Kafka's tool writes it once a version, later nodes get a copy.

The tool is a JVM of its own, a third of a start's CPU time. The log names the features of Kafka's version, and nothing
of the node; the node's ids stand in a file beside it.
"""

from __future__ import annotations

import base64
import hashlib
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from kadmin_nb import files
from kadmin_nb.errors import KadminError
from kadmin_nb.local.node import Node
from kadmin_nb.local_runs import Run
from kadmin_nb.paths import cache_dir

__all__ = ["format_nodes", "random_id"]

EMPTY_LOG = "bootstrap.checkpoint"


def format_nodes(nodes: Sequence[Node], timeout: float, *, by_recipe: bool) -> None:
    """Format every node: with copies where the properties are the recipe's alone, as others may decide what it holds.

    Raises
    ------
    ConnectionFailed
        Kafka's own last words, when it refuses the properties.
    """
    copy = _copy(nodes[0].run)
    if by_recipe and copy.exists():
        for node in nodes:
            _write(node, copy)
        return
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda node: node.format(timeout), nodes))
    if by_recipe:
        _save(nodes[0].data / EMPTY_LOG, copy)


def _copy(run: Run) -> Path:
    """The place of the copy for exactly these jars."""
    key = hashlib.sha256(run.classpath.encode()).hexdigest()[:12]
    return cache_dir() / "formats" / f"kafka-{run.version}-{key}"


def _write(node: Node, copy: Path) -> None:
    node.data.mkdir()
    files.write(node.data / EMPTY_LOG, copy.read_bytes())
    ids = {"version": 1, "cluster.id": node.run.cluster_id, "node.id": node.id, "directory.id": random_id()}
    files.write(node.data / "meta.properties", "".join(f"{name}={value}\n" for name, value in ids.items()))


def _save(empty_log: Path, copy: Path) -> None:
    """Nothing depends on it: without it the tool formats again."""
    with suppress(KadminError, OSError):
        files.make_folder(copy.parent)
        files.write(copy, empty_log.read_bytes())


def random_id() -> str:
    """An id as Kafka writes them, without a leading `-`, which its tools take for an option."""
    while (drawn := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return drawn
