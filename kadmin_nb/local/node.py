"""One node of a local cluster: a JVM in its own folder, signalled by its process id."""

from __future__ import annotations

import base64
import hashlib
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kadmin_nb import files
from kadmin_nb.errors import ConnectionFailed, KadminError, TimedOut
from kadmin_nb.jars import Progress
from kadmin_nb.java import Java
from kadmin_nb.local import runs
from kadmin_nb.local.properties import CONTROLLER, DATA
from kadmin_nb.local_runs import Run, accepts
from kadmin_nb.paths import cache_dir

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
    """An id as Kafka writes them, without a leading `-`, which its tools take for an option."""
    while (drawn := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return drawn


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

    def restart(self, timeout: float = 60.0) -> None:
        """Stop the node if it runs and start it again, with its data, on the same ports."""
        self.stop(timeout)
        self.start(timeout)

    def _wait_gone(self, timeout: float) -> None:
        if not runs.wait_until_dead([self._pid_file], timeout):
            raise TimedOut(f"node {self.id} of {self.run.name!r} did not end within {timeout:.0f} s",
                           hint=f"its log: {self.log_path}")  # fmt: skip
        runs.forget(self._pid_file)

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
        tail = log_tail(self.folder, 1000)
        telling = [line for line in tail if line[:1].strip()][-4:]  # neither stack frames nor dumps of settings
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


def log_tail(folder: Path, lines: int) -> list[str]:
    """The last lines of a node's log, then of what its JVM said outside the log."""
    all_lines = [*_last_lines(folder / "server.log"), *_last_lines(folder / "console.log")]
    return all_lines[-lines:] if lines > 0 else []


def _last_lines(file: Path) -> list[str]:
    """The last megabyte's lines; a log may be ten."""
    return _text_since(file, max(0, file.stat().st_size - 1_000_000) if file.exists() else 0).splitlines()


def _text_since(file: Path, since: int) -> str:
    """The text of a file after a byte, or all of it where it has become shorter."""
    try:
        with file.open("rb") as log:
            log.seek(since if since <= file.stat().st_size else 0)
            return log.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
