"""The files of a node and its clients: KRaft server properties, Java client properties, log4j's configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kadmin_nb import files
from kadmin_nb.local_runs import ADMIN

CONTROLLER = "CONTROLLER"
DATA = "data"
PROXIED = "PROXIED"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


LOGINS = "SASL_PLAINTEXT"
"""The listener of users with passwords: the only one of a secure cluster, and beside the open one where some log in."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files of a node's TLS listener.

    `certificate` is the chain, the node's own first; `key` an unencrypted PKCS#8 key; `ca` what client
    certificates must be signed by, where clients have to show one.
    """

    certificate: Path
    key: Path
    ca: Path | None = None


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """The wish for a cluster, before ports are chosen.

    `passwords` has one entry a PLAIN user, the admin among them, and is empty on a cluster without logins. Where they
    are `beside`, they log in at a listener of their own, and nothing else needs a login.
    `proxied` has a port a node where a proxy stands, or is empty: a client of the listener PROXIED is told to go there.
    `extra` are server properties that win over the recipe's own; one that is None leaves the recipe's out.
    `node_flags` are further flags of the nodes' JVMs.
    """

    nodes: int = 1
    passwords: Mapping[str, str] | None = None
    beside: bool = False
    tls: TlsFiles | None = None
    proxied: tuple[int, ...] = ()
    extra: Mapping[str, str | None] | None = None
    plugins: tuple[Path, ...] = ()
    heap: str = "256m"
    timeout: float = 90.0
    node_flags: tuple[str, ...] = ()

    @property
    def secure(self) -> bool:
        return bool(self.passwords) and not self.beside

    @property
    def listeners(self) -> dict[str, str]:
        """The protocol of each listener, by its name: the clients' first, the brokers' own before all, and the
        controller's last."""
        sasl = "SASL_" if self.secure else ""
        further = {LOGINS: self.beside, f"{sasl}SSL": self.tls, PROXIED: self.proxied}
        names = [f"{sasl}PLAINTEXT", *(name for name, is_wanted in further.items() if is_wanted), CONTROLLER]
        return {name: f"{sasl}PLAINTEXT" if name in (PROXIED, CONTROLLER) else name for name in names}


def server_properties(recipe: ClusterSpec, node_id: int, ports: Sequence[Mapping[str, int]]) -> dict[str, str]:
    """The properties of one node. `ports` has one mapping a node, listener name to port.

    Paths are relative to the node's folder, where it runs: a comma in `log.dirs` would be a separator.
    """
    properties: dict[str, str | None] = {
        **_quorum(recipe, node_id, ports),
        **_internal_topics(recipe.nodes),
        **(_logins(recipe) if recipe.secure else _logins_beside(recipe) if recipe.beside else {}),
        **(_tls(recipe, recipe.tls) if recipe.tls else {}),
        **(_proxied(recipe, node_id, ports[node_id - 1]) if recipe.proxied else {}),
        **(recipe.extra or {}),
    }
    return {name: value for name, value in properties.items() if value is not None}


def _quorum(recipe: ClusterSpec, node_id: int, ports: Sequence[Mapping[str, int]]) -> dict[str, str]:
    node_ports = ports[node_id - 1]
    voters = (f"{i}@127.0.0.1:{node[CONTROLLER]}" for i, node in enumerate(ports, start=1))
    return {
        "process.roles": "broker,controller",
        "node.id": str(node_id),
        "controller.quorum.voters": ",".join(voters),
        "controller.listener.names": CONTROLLER,
        "listeners": ",".join(f"{name}://127.0.0.1:{node_ports[name]}" for name in recipe.listeners),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in recipe.listeners.items()),
        "inter.broker.listener.name": next(iter(recipe.listeners)),
        "log.dirs": DATA,
        "metadata.max.idle.interval.ms": "5000",  # twice a second by default: nearly half of what an idle node does
        "log.cleaner.dedupe.buffer.size": "2097152",  # its default, 128 MB, is most of a small heap
    }


def _internal_topics(nodes: int) -> dict[str, str]:
    factor, in_sync = str(min(nodes, 3)), str(min(nodes, 2))
    return {
        "offsets.topic.replication.factor": factor,
        "transaction.state.log.replication.factor": factor,
        "transaction.state.log.min.isr": in_sync,
        "transaction.state.log.num.partitions": "1",  # 50 by default, made while the first lease is awaited
        "share.coordinator.state.topic.replication.factor": factor,
        "share.coordinator.state.topic.min.isr": in_sync,
        "group.initial.rebalance.delay.ms": "0",
    }


def _logins(recipe: ClusterSpec) -> dict[str, str]:
    """PLAIN for the admin and between the nodes, SCRAM for users made over the API, the standard authorizer.

    Not SCRAM between nodes: three nodes that need the quorum to know a password never get a quorum.
    """
    plain = _plain_jaas(recipe.passwords or {})
    jaas = {f"listener.name.{name.lower()}.plain.sasl.jaas.config": plain for name in recipe.listeners}
    scram = {
        f"listener.name.{name.lower()}.scram-sha-{bits}.sasl.jaas.config": f"{SCRAM} required;"
        for name in recipe.listeners
        if name != CONTROLLER
        for bits in (256, 512)
    }
    return {
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{ADMIN}",
        **jaas,
        **scram,
    }


def _logins_beside(recipe: ClusterSpec) -> dict[str, str]:
    """PLAIN at its listener, and no authorizer."""
    jaas = f"listener.name.{LOGINS.lower()}.plain.sasl.jaas.config"
    return {"sasl.enabled.mechanisms": "PLAIN", jaas: _plain_jaas(recipe.passwords or {})}


def _plain_jaas(passwords: Mapping[str, str]) -> str:
    users = " ".join(f"user_{user}={_quoted(password)}" for user, password in passwords.items())
    return f'{PLAIN} required username="{ADMIN}" password={_quoted(passwords[ADMIN])} {users};'


def _tls(recipe: ClusterSpec, tls: TlsFiles) -> dict[str, str]:
    prefix = f"listener.name.{'sasl_ssl' if recipe.secure else 'ssl'}.ssl."
    client = {"client.auth": "required", "truststore.type": "PEM",
              "truststore.certificates": tls.ca.read_text()} if tls.ca else {}  # fmt: skip
    keystore = {
        "keystore.type": "PEM",
        "keystore.certificate.chain": tls.certificate.read_text(),
        "keystore.key": tls.key.read_text(),
    }
    return {prefix + key: value for key, value in (keystore | client).items()}


def _proxied(recipe: ClusterSpec, node_id: int, node_ports: Mapping[str, int]) -> dict[str, str]:
    """The address for clients; without it Metadata names the broker itself, and the proxy sees one connection."""
    with_proxy = {**node_ports, PROXIED: recipe.proxied[node_id - 1]}
    return {
        "advertised.listeners": ",".join(
            f"{name}://127.0.0.1:{with_proxy[name]}" for name in recipe.listeners if name != CONTROLLER
        )
    }


def client_properties(bootstrap: str, credentials: Mapping[str, str] | None = None) -> dict[str, str]:
    """The properties with which a Java client connects, `credentials` as `login` makes them."""
    return {"bootstrap.servers": bootstrap, **(credentials or {})}


def login(user: str, password: str, mechanism: str) -> dict[str, str]:
    """The properties that log in with PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, without TLS."""
    module = PLAIN if mechanism == "PLAIN" else SCRAM
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f"{module} required username={_quoted(user)} password={_quoted(password)};",
    }


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def write_log4j_configs(folder: Path) -> None:
    """Write both configurations into a node's folder, where it runs.

    `server.log` is for everything, `request.log` for requests, ten MB a file, three files. `kafka.request.logger`
    stands at WARN, so `request.log` stays empty until somebody sets the broker logger to DEBUG or TRACE.
    """
    for name in ("log4j2.properties", "log4j.properties"):
        files.write(folder / name, Path(__file__).with_name(name).read_bytes())


def log4j_flags(*, log4j2: bool) -> tuple[str, ...]:
    """The JVM flag that names the configuration: log4j2's since Kafka 4, reload4j's before."""
    if log4j2:
        return ("-Dlog4j2.configurationFile=log4j2.properties",)
    return ("-Dlog4j.configuration=file:log4j.properties",)
