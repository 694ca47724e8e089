"""A real Kafka on this machine, with one to five nodes, for demos, tutorials and tests; its jars are downloaded once.

>>> from kadmin_nb import local
>>> with local.start() as kafka:      # doctest: +SKIP
...     cluster = kafka.connect()
"""

from kadmin_nb.jars import find_jars
from kadmin_nb.java import find_java
from kadmin_nb.local.demo import seed
from kadmin_nb.local.local_kafka import LocalKafka, find, launch, start, status, stop
from kadmin_nb.local.node import Node

__all__ = [
    "LocalKafka",
    "Node",
    "find",
    "find_jars",
    "find_java",
    "launch",
    "seed",
    "start",
    "status",
    "stop",
]
