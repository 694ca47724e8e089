"""A real Kafka on loopback: start it, find it, look at it, stop it."""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from kadmin_nb import documents, files, local_runs
from kadmin_nb.errors import KadminError, NotFound, Unsupported, UsageError
from kadmin_nb.jars import Distribution, Progress, find_jars
from kadmin_nb.java import Java, find_java
from kadmin_nb.local.node import (
    LOGINS,
    ClusterSpec,
    Node,
    archive_flags,
    log4j_flag,
    login,
    server_properties,
    wait_for,
    write_log4j_configs,
)
from kadmin_nb.local_runs import ADMIN, Run
from kadmin_nb.paths import cache_dir

from . import runs

if TYPE_CHECKING:
    from kadmin_nb.cluster import Cluster


class LocalKafka:
    """A running local cluster. As a context manager it stops at the end, if it was started with `start`."""

    def __init__(self, folder: Path, run: Run, watchdog: subprocess.Popen[bytes] | None = None) -> None:
        self.folder = folder
        self._run = run
        self._watchdog = watchdog
        self.nodes = tuple(Node(i, folder / f"node-{i}", run) for i in range(1, len(run.ports) + 1))

    def __repr__(self) -> str:
        return f"<LocalKafka {self.name!r} {self.version} at {self.bootstrap}>"

    def __enter__(self) -> LocalKafka:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._watchdog:
            self.stop()

    @property
    def name(self) -> str:
        """The name it was started under."""
        return self._run.name

    @property
    def version(self) -> str:
        """Kafka's version."""
        return self._run.version

    @property
    def secure(self) -> bool:
        """True if it has logins and the authorizer."""
        return self._run.secure

    @property
    def started_at(self) -> datetime:
        """The time of its start, UTC."""
        return datetime.fromisoformat(self._run.started_at)

    @property
    def alive(self) -> int:
        """The number of nodes that run."""
        return sum(node.pid is not None for node in self.nodes)

    @property
    def state(self) -> str:
        """`running`, `degraded` (some nodes run), or `dead` (none does, and logs are kept)."""
        alive = self.alive
        return "dead" if alive == 0 else "running" if alive == len(self.nodes) else "degraded"

    @property
    def log(self) -> str:
        """The path of the log of node 1."""
        return str(self.nodes[0].log_path)

    @property
    def cluster_id(self) -> str:
        """The cluster id."""
        return self._run.cluster_id

    @property
    def bootstrap(self) -> str:
        """`host:port` of every node's first listener, with commas."""
        return self.address(next(iter(self._run.ports[0])))

    def address(self, listener: str) -> str:
        """`host:port` of every node's `PLAINTEXT`, `SASL_PLAINTEXT` or `PROXIED` listener, or a further one."""
        return ",".join(f"127.0.0.1:{ports[listener]}" for ports in self._run.ports)

    @property
    def client_properties(self) -> Path:
        """A Java client properties file (0600) that connects, as admin if the cluster has logins."""
        return self._user_file(ADMIN)

    def user_properties(self, user: str) -> Path:
        """The same for another user.

        Raises
        ------
        NotFound
            The user was neither named at the start nor given to `remember_login`.
        """
        file = self._user_file(user)
        if not file.exists():
            raise NotFound(f"no login of user {user!r} is kept for the local Kafka {self.name!r}",
                           hint="start(secure=True, users=[…]) makes PLAIN users")  # fmt: skip
        return file

    def remember_login(self, user: str, password: str, mechanism: str = "SCRAM-SHA-512") -> Path:
        """Keep the login of a user that was created elsewhere, for `user_properties` and `connect`."""
        file = self._user_file(user)
        address = self.address(LOGINS) if LOGINS in self._run.ports[0] else self.bootstrap
        _write_private(file, {"bootstrap.servers": address, **login(user, password, mechanism)})
        return file

    def connect(self, user: str | None = None) -> Cluster:
        """A connection as admin, or as a user whose login is kept."""
        from kadmin_nb.cluster import connect

        return connect(str(self.user_properties(user or ADMIN)))

    def stop(self) -> None:
        """End every node at once and remove the data. A second call does nothing."""
        runs.end(self.folder, self._run.run_id)
        if self._watchdog:
            runs.release(self._watchdog)

    def _user_file(self, user: str) -> Path:
        return local_runs.user_file(self.folder, user)


def start(
    nodes: int = 1, secure: bool = False, version: str | None = None, *, name: str | None = None,
    users: Iterable[str] = (), listeners: Mapping[str, str] | None = None, proxied: Sequence[int] = (),
    extra: Mapping[str, str] | None = None, plugins: Iterable[Path] = (), heap: str = "256m",
    timeout: float = 90.0, progress: Progress | None = None,
) -> LocalKafka:  # fmt: skip
    """A Kafka that dies with this Python process, however the process ends, or at `stop()`.

    Parameters
    ----------
    nodes
        1 to 5, each broker and controller.
    secure
        SASL (PLAIN and SCRAM) and the standard authorizer; `admin` is the super user, with a random password.
    version
        Kafka's version, "4.4.0" (the default) or "3.9.2".
    name
        Its name in `status` and `logs`; default: a generated one.
    users
        PLAIN users that may log in and have no rights, with random passwords; `connect(user)` logs them in. Without
        `secure` they log in at a listener of their own, and all may do everything.
    listeners
        The protocol of each further listener by its name, such as `{"SSL": "SSL"}`, whose properties are in `extra`;
        `address` gives its ports.
    proxied
        Ports of TCP proxies, one a node, for a further listener `PROXIED`: its clients are told to connect there, and
        `address("PROXIED")` is where the proxies lead.
    extra
        Server properties that override the defaults here.
    plugins
        Jars or folders of classes for the brokers' class path: a policy, a quota callback.
    heap
        Each JVM's `-Xmx`.
    timeout
        Seconds that the nodes may take to format, and again to accept clients.
    progress
        Called with a line of text where something takes long: the download, the first start.

    Raises
    ------
    UsageError
        The name is taken, or an argument makes no sense.
    ConnectionFailed
        A node did not come up: everything is stopped, the message has its log's last lines.
    Unsupported, NotFound, Invalid
        As `find_java` and `find_jars`.
    """
    spec = _spec(nodes, secure, users, further=listeners or {}, extra=extra or {}, proxied=tuple(proxied),
                 plugins=tuple(plugins), heap=heap, timeout=timeout)  # fmt: skip
    return _start(name, False, spec, version, progress)


def launch(
    name: str = "default", nodes: int = 1, secure: bool = False, version: str | None = None, *,
    users: Iterable[str] = (), extra: Mapping[str, str] | None = None, timeout: float = 90.0,
    progress: Progress | None = None,
) -> LocalKafka:  # fmt: skip
    """As `start`, but the Kafka outlives this process, until `stop(name)`."""
    return _start(name, True, _spec(nodes, secure, users, extra=extra or {}, timeout=timeout), version, progress)


def find(name: str | None = None) -> LocalKafka:
    """The local Kafka of this name, even if another process started it; without a name `default`, or the only one.

    Raises
    ------
    NotFound
        There is none; the hint lists those there are.
    """
    known = {run.name: (folder, run) for folder, run in local_runs.all_runs()}
    if name is None:
        name = next(iter(known)) if len(known) == 1 else "default"
    local_runs.run_folder(name)  # a bad name is no missing one
    if name not in known:
        hint = f"there are: {', '.join(known)}" if known else "kadmin-nb local start starts one"
        raise NotFound(f"no local Kafka {name!r}", hint=hint)
    return LocalKafka(*known[name])


def stop(name: str | None = None) -> None:
    """End a local Kafka and remove its data; without a name `default`, or the only one.

    Raises
    ------
    NotFound
        There is none of this name.
    """
    find(name).stop()


def status() -> list[LocalKafka]:
    """The local Kafkas that were started and not stopped, by name, dead ones too."""
    return [LocalKafka(folder, run) for folder, run in local_runs.all_runs()]


def _spec(nodes: int, secure: bool, users: Iterable[str], **further: Any) -> ClusterSpec:
    users = list(users)
    if not 1 <= nodes <= 5:
        raise UsageError(f"a local Kafka has 1 to 5 nodes, not {nodes}")
    beside = bool(users) and not secure
    passwords = {user: secrets.token_urlsafe(24) for user in (ADMIN, *users)} if secure or beside else {}
    spec = ClusterSpec(nodes=nodes, passwords=passwords, beside=beside, **further)
    if spec.proxied and len(spec.proxied) != nodes:
        raise UsageError(f"a local Kafka of {nodes} needs as many proxies, not {len(spec.proxied)}")
    return spec


def _start(
    name: str | None, outlives: bool, spec: ClusterSpec, version: str | None, progress: Progress | None
) -> LocalKafka:
    if not hasattr(signal, "SIGKILL"):
        raise Unsupported("a local Kafka needs Linux, macOS or WSL", hint="All else works with a cluster elsewhere.")
    tell = progress or (lambda text: None)
    java, jars = find_java(), find_jars(version, progress=progress)
    flags = archive_flags(f"kafka-{jars.version}", jars.classpath, java, lambda flags: _train(flags, java, jars), tell)
    tell(f"starting Kafka {jars.version}: {spec.nodes} node{'s' * (spec.nodes > 1)}")
    return _claim_and_start(name, outlives, spec, java, jars, flags)


def _train(flags: Sequence[str], java: Java, jars: Distribution) -> None:
    with _claim_and_start(None, False, ClusterSpec(node_flags=tuple(flags)), java, jars, ()) as kafka:
        kafka.nodes[0].stop()


def _claim_and_start(
    name: str | None, outlives: bool, spec: ClusterSpec, java: Java, jars: Distribution, flags: Sequence[str]
) -> LocalKafka:
    run_id = secrets.token_hex(8)
    with runs.claim(name or f"python-{os.getpid()}-{run_id}", unique=name is None) as folder:
        dog = None if outlives else runs.watch(folder, run_id)
        kafka = LocalKafka(folder, _run(folder.name, run_id, outlives, spec, java, jars, flags), dog)
        try:
            kafka._run.save(folder)
            _write_files(kafka, spec)
            format_nodes(kafka.nodes, spec.timeout, by_recipe=not spec.extra)
            wait_for({node: node.spawn() for node in kafka.nodes}, spec.timeout)
        except BaseException:
            runs.kill_nodes(folder)
            if dog:
                kafka.stop()
            raise
        return kafka


EMPTY_LOG = "bootstrap.checkpoint"
"""The empty metadata log that a node starts from: Kafka's tool writes it once a version, later nodes get a copy.

The tool is a JVM of its own, a third of a start's CPU time. The log names the features of Kafka's version, and nothing
of the node; the node's ids stand in a file beside it.
"""


def format_nodes(nodes: Sequence[Node], timeout: float, *, by_recipe: bool) -> None:
    """Format every node: with copies where the properties are the recipe's alone, as others may decide what it holds.

    Raises
    ------
    ConnectionFailed
        Kafka's own last words, when it refuses the properties.
    """
    run = nodes[0].run
    jars = hashlib.sha256(run.classpath.encode()).hexdigest()[:12]
    copy = cache_dir() / "formats" / f"kafka-{run.version}-{jars}"
    if by_recipe and copy.exists():
        for node in nodes:
            node.data.mkdir()
            files.write(node.data / EMPTY_LOG, copy.read_bytes())
            ids = {"version": 1, "cluster.id": run.cluster_id, "node.id": node.id, "directory.id": random_id()}
            files.write(node.data / "meta.properties", "".join(f"{name}={value}\n" for name, value in ids.items()))
        return
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda node: node.format(timeout), nodes))
    if by_recipe:
        with suppress(KadminError, OSError):  # without a copy the tool formats again
            files.make_folder(copy.parent)
            files.write(copy, (nodes[0].data / EMPTY_LOG).read_bytes())


def random_id() -> str:
    """An id as Kafka writes them, without `-`, which its tools take for an option in front."""
    return base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=").replace("-", "_")


def _write_files(kafka: LocalKafka, spec: ClusterSpec) -> None:
    _write_private(kafka.client_properties, {"bootstrap.servers": kafka.bootstrap})
    for user, password in spec.passwords.items():
        if spec.secure or user != ADMIN:
            kafka.remember_login(user, password, "PLAIN")
    for node in kafka.nodes:
        node.folder.mkdir(mode=0o700)
        write_log4j_configs(node.folder)
        properties = server_properties(spec, node.id, node.run.ports)
        _write_private(node.folder / "server.properties", properties)


def _write_private(file: Path, properties: Mapping[str, str]) -> None:
    """Readable by its owner only, from the first byte on."""
    file.parent.mkdir(mode=0o700, exist_ok=True)
    files.write(file, documents.as_properties(properties), mode=0o600)


def _run(
    name: str, run_id: str, outlives: bool, spec: ClusterSpec, java: Java, jars: Distribution, flags: Sequence[str]
) -> Run:
    native = ["--enable-native-access=ALL-UNNAMED"] if java.major >= 22 else []
    memory = [f"-Xmx{spec.heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    free = iter(_free_ports(spec.nodes * len(spec.listeners)))
    return Run(
        name=name, run_id=run_id, cluster_id=random_id(), version=jars.version,
        secure=spec.secure, outlives=outlives, started_at=datetime.now(UTC).isoformat(),
        command=(str(java.command), *memory, "-Djava.awt.headless=true", *native, *flags, log4j_flag(jars.version)),
        node_flags=spec.node_flags, classpath=os.pathsep.join([jars.classpath, *map(str, spec.plugins)]),
        ports=tuple({name: next(free) for name in spec.listeners} for _ in range(spec.nodes)),
    )  # fmt: skip


def _free_ports(count: int) -> list[int]:
    """Ports below those that systems give to outgoing connections: a restarted node finds its own free."""
    free: list[int] = []
    while len(free) < count:
        port = 20_000 + secrets.randbelow(12_000)
        if port not in free and not local_runs.accepts(port):
            free.append(port)
    return free
