"""A real Kafka on this machine, with one to five nodes, for demos, tutorials and tests; its jars are downloaded once.

>>> from kadmin_nb import local
>>> with local.start() as kafka:      # doctest: +SKIP
...     cluster = kafka.connect()
"""

from kadmin_nb.jars import find_jars
from kadmin_nb.java import Java, find_java, spark_java_home
from kadmin_nb.local.demo import seed
from kadmin_nb.local.local_kafka import LocalKafka, find, launch, start, status, stop
from kadmin_nb.local.node import Node
from kadmin_nb.local.properties import TlsFiles

__all__ = [
    "Java",
    "LocalKafka",
    "Node",
    "TlsFiles",
    "find",
    "find_jars",
    "find_java",
    "launch",
    "seed",
    "spark_java_home",
    "start",
    "status",
    "stop",
]
