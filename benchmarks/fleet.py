"""A hundred thousand entities on a local broker, and Kafka's own tool beside it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from kadmin_nb.admin.wire_kinds import _quotas_request
from kadmin_nb.cluster import Cluster
from kadmin_nb.local import find_jars, find_java
from kadmin_nb.model.entity import Entity
from tests.kafka_jars import tools_classpath

JVM_OPTIONS = (
    "-Xmx256M",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
    f"-Dlog4j2.configurationFile={os.devnull}",
)
"""What `kafka-run-class.sh` sets."""

ENTITIES, USERS, BATCH = 100_000, 50_000, 5_000
KEYS = ("producer_byte_rate", "consumer_byte_rate")


def pair(number: int) -> list[tuple[str, str]]:
    """The n-th user and client-id."""
    return [("user", f"user-{number % USERS:06d}"), ("client-id", f"app-{number // USERS:03d}")]


def values(number: int) -> dict[str, float]:
    """Its quotas: different for all, so that nothing is shared by luck."""
    return {key: float(1_000_000 + number * 7 + place) for place, key in enumerate(KEYS)}


def fill(cluster: Cluster) -> None:
    """Put the entities on the broker, straight through the port."""
    port = cluster.port.quotas
    for start in range(0, ENTITIES, BATCH):
        numbers = range(start, start + BATCH)
        refused = port.alter({Entity.from_wire(pair(n)): values(n) for n in numbers})
        assert not any(refused.values())


def recorded(cluster: Cluster) -> bytes:
    """The broker's own answer to a describe of everything, as bytes of version 1."""
    return bytes(cluster.port.wire.ask(lambda: _quotas_request((), False), doing="recording an answer"))


def config_command(bootstrap: str, *words: str) -> list[str]:
    """The command line that `kafka-configs.sh` runs, with its JVM options, without the shell script's own start."""
    main = "org.apache.kafka.tools.ConfigCommand"
    return _java(tools_classpath(), main, "--bootstrap-server", bootstrap, *words)


def _java(classpath: str, *words: object) -> list[str]:
    return [str(find_java().command), *JVM_OPTIONS, "-cp", classpath, *map(str, words)]


PEERS = Path(__file__).parent / "peers" / "classes"


def java_peer(name: str, *words: object) -> list[float]:
    """CPU seconds of each round of a program of `peers` in one JVM; the first has the JVM's start."""
    command = _java(os.pathsep.join([find_jars().classpath, str(PEERS)]), name, *words)
    printed = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True).stdout
    return [float(line.split()[0]) for line in printed.splitlines()]
