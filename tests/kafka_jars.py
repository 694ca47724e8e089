"""Have Kafka's jars before the tests need them: `python -m tests.kafka_jars [VERSION ...]`."""

from __future__ import annotations

import os
import sys

from kadmin_nb import jars

TOOLS = jars.Release("Kafka-tools", jars.DEFAULT_VERSION, "1 MB")
"""Kafka's own command lines, which stand in a module of their own since 4.4."""


def tools_classpath() -> str:
    """The class path of Kafka's own command lines."""
    return os.pathsep.join([jars.find_jars(jars.DEFAULT_VERSION).classpath, *map(str, TOOLS.jars())])


if __name__ == "__main__":
    for version in sys.argv[1:] or [jars.DEFAULT_VERSION]:
        jars.find_jars(version, progress=print)
    TOOLS.jars(progress=print)
