"""The nodes of a local cluster: the files of each and of its clients, its JVM, and what makes its start quick."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from kadmin_nb import files
from kadmin_nb.errors import ConnectionFailed, KadminError, TimedOut
from kadmin_nb.jars import Progress
from kadmin_nb.java import Java
from kadmin_nb.local import runs
from kadmin_nb.local_runs import ADMIN, Run, accepts
from kadmin_nb.paths import cache_dir

CONTROLLER = "CONTROLLER"
DATA = "data"
PROXIED = "PROXIED"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


LOGINS = "SASL_PLAINTEXT"
"""The listener of users with passwords: the only one of a secure cluster, and beside the open one where some log in."""


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """The wish for a cluster, before ports are chosen.

    `passwords` has one entry a PLAIN user, the admin among them, and is empty on a cluster without logins. Where they
    are `beside`, they log in at a listener of their own, and nothing else needs a login.
    `proxied` has a port a node where a proxy stands, or is empty: a client of the listener PROXIED is told to go there.
    `further` has the protocol of each further listener by its name, and `extra` server properties that win over the
    recipe's own.
    `node_flags` are further flags of the nodes' JVMs.
    """

    nodes: int = 1
    passwords: Mapping[str, str] = field(default_factory=dict)
    beside: bool = False
    further: Mapping[str, str] = field(default_factory=dict)
    proxied: tuple[int, ...] = ()
    extra: Mapping[str, str] = field(default_factory=dict)
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
        first = LOGINS if self.secure else "PLAINTEXT"
        logins, proxied = {LOGINS: LOGINS} if self.beside else {}, {PROXIED: first} if self.proxied else {}
        return {first: first, **logins, **self.further, **proxied, CONTROLLER: first}


def server_properties(recipe: ClusterSpec, node_id: int, ports: Sequence[Mapping[str, int]]) -> dict[str, str]:
    """The properties of one node. `ports` has one mapping a node, listener name to port.

    Paths are relative to the node's folder, where it runs: a comma in `log.dirs` would be a separator.
    """
    return {
        **_quorum(recipe, node_id, ports),
        **_internal_topics(recipe.nodes),
        **(_logins(recipe) if recipe.secure else _logins_beside(recipe) if recipe.beside else {}),
        **(_proxied(recipe, node_id, ports[node_id - 1]) if recipe.proxied else {}),
        **recipe.extra,
    }


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
    plain = _plain_jaas(recipe.passwords)
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
    return {"sasl.enabled.mechanisms": "PLAIN", jaas: _plain_jaas(recipe.passwords)}


def _plain_jaas(passwords: Mapping[str, str]) -> str:
    users = " ".join(f"user_{user}={_quoted(password)}" for user, password in passwords.items())
    return f'{PLAIN} required username="{ADMIN}" password={_quoted(passwords[ADMIN])} {users};'


def _proxied(recipe: ClusterSpec, node_id: int, node_ports: Mapping[str, int]) -> dict[str, str]:
    """The address for clients; without it Metadata names the broker itself, and the proxy sees one connection."""
    with_proxy = {**node_ports, PROXIED: recipe.proxied[node_id - 1]}
    return {
        "advertised.listeners": ",".join(
            f"{name}://127.0.0.1:{with_proxy[name]}" for name in recipe.listeners if name != CONTROLLER
        )
    }


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


def log4j_flag(version: str) -> str:
    """The JVM flag that names the configuration: log4j2's since Kafka 4, reload4j's before."""
    is_older = version.startswith("3.")
    return "-Dlog4j.configuration=file:log4j.properties" if is_older else "-Dlog4j2.configurationFile=log4j2.properties"


# --- what makes a start quick ---

Train = Callable[[Sequence[str]], None]
"""Starts a JVM with these flags, waits until it has done what it is for, and ends it politely."""


def archive_flags(name: str, classpath: str, java: Java, train: Train, progress: Progress) -> tuple[str, ...]:
    """The JVM flags that use the archive, which is made first if it is missing; empty where none can be made.

    The class-data archive halves the start of a JVM. One that is started for this writes it when it ends politely: with
    `-XX:ArchiveClassesAtExit` on Java 17 to 24 (47 MB for a node of Kafka), with `-XX:AOTCacheOutput` on Java 25
    (63 MB). Nothing depends on it: where making it fails, JVMs start without.

    `name` is what the JVM runs, with its version, as `kafka-4.4.0`.
    """
    file = _archive_file(name, classpath, java)
    if not file.exists():
        _make_archive(file, java, train, progress)
    return ready_flags(name, classpath, java)


def ready_flags(name: str, classpath: str, java: Java) -> tuple[str, ...]:
    """The JVM flags that use the archive, empty without one; one that could not be made is an empty file."""
    file = _archive_file(name, classpath, java)
    if not file.exists() or not file.stat().st_size:
        return ()
    # an archive that does not fit is passed over, with a warning that nobody needs
    if java.major >= 25:
        return (f"-XX:AOTCache={file}", "-Xlog:aot*=off", "-Xlog:cds*=off")
    return (f"-XX:SharedArchiveFile={file}", "-Xlog:cds*=off")


def _archive_file(name: str, classpath: str, java: Java) -> Path:
    """An archive is good for exactly this Java and these jars at these paths."""
    identity = "\n".join([str(java.command), java.version, classpath])
    key = hashlib.sha256(identity.encode()).hexdigest()[:12]
    return cache_dir() / "archives" / f"{name}-java-{java.version}-{key}"


def _make_archive(file: Path, java: Java, train: Train, progress: Progress) -> None:
    """One process makes it, others that start meanwhile go without. After a failure the file is empty, and stays."""
    half = file.with_name(f"{file.name}.new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with files.locking(file.with_name(f".{file.name}.lock")) as is_ours:
            if not is_ours:
                return
            progress("first start with this Java: making the class archive that halves later starts")
            train([f"-XX:{'AOTCacheOutput' if java.major >= 25 else 'ArchiveClassesAtExit'}={half}"])
            half.rename(file)
    except (KadminError, OSError):
        half.unlink(missing_ok=True)
        with suppress(OSError):
            file.touch()


# --- a node ---


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A node by its id, its folder, and the run it belongs to."""

    id: int
    folder: Path
    run: Run

    @property
    def ports(self) -> dict[str, int]:
        """Listener name to port on 127.0.0.1."""
        return self.run.ports[self.id - 1]

    @property
    def pid(self) -> int | None:
        """The id of the node's process, None when it does not run."""
        return runs.living(self._pid_file)

    @property
    def data(self) -> Path:
        """The folder of its metadata and records, where no property names others."""
        return self.folder / DATA

    @property
    def log_path(self) -> Path:
        """The broker's log."""
        return self.folder / "server.log"

    def format(self, timeout: float) -> None:
        """Write the empty metadata log that a node starts from (0.5 to 1 s).

        Raises
        ------
        ConnectionFailed
            Kafka's own last words, when it refuses the properties.
        """
        words = ["kafka.tools.StorageTool", "format", f"--cluster-id={self.run.cluster_id}", "-c", "server.properties"]
        try:
            done = subprocess.run([*self.run.command, *words], cwd=self.folder, env=self._env, text=True,
                                  errors="replace", capture_output=True, timeout=timeout,
                                  stdin=subprocess.DEVNULL)  # fmt: skip
        except subprocess.TimeoutExpired:
            raise self._not_up(f"was not formatted within {timeout:.0f} s") from None
        if done.returncode:
            files.write(self.folder / "console.log", done.stdout + done.stderr)
            raise self._not_up("could not be formatted")

    def start(self, timeout: float = 60.0) -> None:
        """Start the node and wait until it accepts clients.

        Raises
        ------
        ConnectionFailed
            It does not come up in time; with the last lines of its log.
        """
        wait_for({self: self.spawn()}, timeout)

    def spawn(self) -> int:
        """Start the node's process, unless it runs, and return at once, with the position in its log."""
        goes_on = self.log_path.stat().st_size if self.log_path.exists() else 0
        if self.pid is None:
            words = [*self.run.node_flags, f"-Dkadmin.local={self._token}", "kafka.Kafka", "server.properties"]
            runs.spawn(self.folder, self._token, [*self.run.command, *words], self._env)
        return goes_on

    def takes_clients(self, since: int = 0) -> bool:
        """True if every port for clients accepts, and the log says, after byte `since`, that the node has started.

        A node opens its ports when the controller has let it in. The log tells that they are its own: another
        process may have been quicker to take one.
        """
        ports = (port for listener, port in self.ports.items() if listener != CONTROLLER)
        return all(map(accepts, ports)) and "Kafka Server started" in _text_since(self.log_path, since)

    def stop(self, timeout: float = 60.0) -> None:
        """End the node politely (SIGTERM) and wait: 0.5 s, or 5 s where the quorum is lost."""
        runs.send(self._pid_file, signal.SIGTERM)
        runs.send(self._pid_file, signal.SIGCONT)
        self._wait_gone(timeout)

    def kill(self) -> None:
        """End the node at once (SIGKILL), as a power cut would."""
        runs.send(self._pid_file, signal.SIGKILL)
        self._wait_gone(10.0)

    def pause(self) -> None:
        """Freeze the node (SIGSTOP): its connections stay open and nothing answers."""
        runs.freeze(self._pid_file)

    def resume(self) -> None:
        """Resume a frozen node."""
        runs.send(self._pid_file, signal.SIGCONT)

    def _wait_gone(self, timeout: float) -> None:
        if not runs.wait_until_dead([self._pid_file], timeout):
            raise TimedOut(f"node {self.id} of {self.run.name!r} did not end within {timeout:.0f} s",
                           hint=f"its log: {self.log_path}")  # fmt: skip
        self._pid_file.unlink(missing_ok=True)

    @property
    def _pid_file(self) -> Path:
        return self.folder / "pid"

    @property
    def _token(self) -> str:
        return f"{self.run.run_id}-{self.id}"

    @property
    def _env(self) -> dict[str, str]:
        """Ours, without what would reach into every JVM behind the recipe's back."""
        ours = {
            k: v for k, v in os.environ.items() if k not in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS")
        }
        return {**ours, "CLASSPATH": self.run.classpath}

    def _not_up(self, problem: str) -> ConnectionFailed:
        text = _text_since(self.log_path, 0) + _text_since(self.folder / "console.log", 0)
        telling = [line for line in text.splitlines() if line[:1].strip()][
            -4:
        ]  # neither stack frames nor dumps of settings
        log_text = " | ".join(telling) or "(empty)"
        return ConnectionFailed(
            f"node {self.id} of the local Kafka {self.run.name!r} {problem}; its log ends: {log_text}",
            hint="If it needs more time, pass timeout=; if more memory, heap=.",
        )


def wait_for(spawned: Mapping[Node, int], timeout: float) -> None:
    """Wait until every node takes clients; `spawned` says for each where its log goes on.

    Raises
    ------
    ConnectionFailed
        One ended, or `timeout` seconds did; with the last lines of its log.
    """
    waiting, end = list(spawned), time.monotonic() + timeout
    while waiting := [node for node in waiting if not node.takes_clients(spawned[node])]:
        if dead := next((node for node in waiting if node.pid is None), None):
            raise dead._not_up("ended while starting")
        if time.monotonic() > end:
            raise waiting[0]._not_up(f"accepted no clients within {timeout:.0f} s")
        time.sleep(0.05)


def _text_since(file: Path, since: int) -> str:
    """The text of a file after a byte, or all of it where it has become shorter."""
    try:
        with file.open("rb") as log:
            log.seek(since if since <= file.stat().st_size else 0)
            return log.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
