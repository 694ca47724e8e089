"""Have Kafka's jars before the tests need them: `python -m tests.kafka_jars [VERSION ...]`."""

from __future__ import annotations

import sys

from kadmin_nb import jars

if __name__ == "__main__":
    for version in sys.argv[1:] or [jars.DEFAULT_VERSION]:
        jars.find_jars(version, progress=print)
