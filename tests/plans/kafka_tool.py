"""Kafka's own `org.apache.kafka.tools.ConfigCommand`, fed with lines that a real bash has read."""

from __future__ import annotations

import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.java_gateway import CallbackServerParameters, GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from kadmin_nb.java import find_java
from tests.kafka_jars import tools_classpath

COMMAND = "org.apache.kafka.tools.ConfigCommand"

SHORT_LIVED = ["-Xmx256M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
"""Options of a JVM that lives for seconds: C2 would compile for longer than its code runs."""

UTF_8 = {"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]}


def read_by_bash(lines: str, **variables: str) -> list[list[str]]:
    """The words that each line hands to `kafka-configs.sh`."""
    program = 'kafka-configs.sh() { printf "%s\\0" "$#" "$@"; }; . /dev/stdin'
    done = _bash(program, lines, variables)
    said, calls = done.stdout.decode().split("\0")[:-1], []
    while said:
        count, said = int(said[0]), said[1:]
        calls.append(said[:count])
        said = said[count:]
    return calls


def run_by_bash(lines: str, folder: Path) -> None:
    """Carry the lines out as an operator does, a process each."""
    command = shlex.join([str(find_java().command), *SHORT_LIVED, "-cp", tools_classpath(), COMMAND])
    script = folder / "kafka-configs.sh"
    script.write_text(f'#!/bin/bash\nexec {command} "$@"\n')
    script.chmod(0o755)
    _bash("set -e; . /dev/stdin", lines, {"PATH": f"{folder}:{UTF_8['PATH']}"})


def _bash(program: str, lines: str, variables: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(
        ["bash", "-c", program], input=lines.encode(), capture_output=True, env=UTF_8 | variables, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, b""), done.stdout + done.stderr
    return done


@dataclass(frozen=True)
class ToolRun:
    """The exit status of one run of the tool, and what it printed."""

    code: int
    out: str
    err: str


class _Exits:
    """Kafka's way out of the process, taken down instead: the first status counts, as the process would be gone."""

    def __init__(self) -> None:
        self.code: int | None = None

    def execute(self, code: int, message: str | None) -> None:
        self.code = code if self.code is None else self.code
        raise RuntimeError(f"exit {code}")  # Java waits for ever for an answer where this ends the thread

    class Java:
        implements = ("org.apache.kafka.common.utils.internals.Exit$Procedure",)


class Tool:
    """The tool in one JVM, so that a line costs a tenth of a second instead of two."""

    def __init__(self) -> None:
        port = launch_gateway(
            classpath=tools_classpath(), java_path=str(find_java().command), die_on_exit=True, javaopts=SHORT_LIVED
        )
        self.gateway = JavaGateway(
            gateway_parameters=GatewayParameters(port=port, auto_convert=True),
            callback_server_parameters=CallbackServerParameters(port=0, daemonize=True, daemonize_connections=True),
        )
        server = self.gateway.get_callback_server()
        self.gateway.java_gateway_server.resetCallbackClient(
            self.gateway.java_gateway_server.getCallbackClient().getAddress(), server.get_listening_port()
        )
        self.tool = self.gateway.jvm.java.lang.Class.forName(COMMAND)
        self.options_of = self.gateway.jvm.java.lang.Class.forName(f"{COMMAND}$ConfigCommandOptions")

    def __call__(self, words: list[str]) -> str | None:
        """Run one line; what the tool complained of, if it did."""
        try:
            options = self._options(words)
            self._called(self.options_of, "checkArgs", options)
            self._called(self.tool, "processCommand", None, options)
        except Py4JJavaError as exc:
            return str(exc.java_exception.getCause() or exc.java_exception)
        return None

    def run(self, words: list[str]) -> ToolRun:
        """Run one line from its first word to its exit status."""
        jvm, exits = self.gateway.jvm, _Exits()
        out, err = jvm.java.io.ByteArrayOutputStream(), jvm.java.io.ByteArrayOutputStream()
        jvm.org.apache.kafka.common.utils.internals.Exit.setExitProcedure(exits)
        jvm.java.lang.System.setOut(jvm.java.io.PrintStream(out, True, "UTF-8"))
        jvm.java.lang.System.setErr(jvm.java.io.PrintStream(err, True, "UTF-8"))
        try:
            jvm.org.apache.kafka.tools.ConfigCommand.main(self._array(jvm.java.lang.String, words))
        except Py4JJavaError:
            assert exits.code is not None
        return ToolRun(exits.code or 0, out.toString("UTF-8"), err.toString("UTF-8"))

    def read(self, words: list[str]) -> dict[str, str]:
        """The keys and values that the tool reads in a line; nothing is sent."""
        return dict(self._called(self.tool, "parseConfigsToBeAdded", None, self._options(words)))

    def _options(self, words: list[str]) -> Any:
        made = self.options_of.getDeclaredConstructors()[0]
        made.setAccessible(True)
        texts = self._array(self.gateway.jvm.java.lang.String, words)
        return made.newInstance(self._array(self.gateway.jvm.java.lang.Object, [texts]))

    def _called(self, owner: Any, name: str, on: Any, *arguments: Any) -> Any:
        """What a method says, which other packages may not see."""
        method = next(m for m in owner.getDeclaredMethods() if m.getName() == name)
        method.setAccessible(True)
        return method.invoke(on, self._array(self.gateway.jvm.java.lang.Object, [*arguments]))

    def _array(self, kind: Any, items: list[Any]) -> Any:
        array = self.gateway.new_array(kind, len(items))
        for place, item in enumerate(items):
            array[place] = item
        return array

    def close(self) -> None:
        self.gateway.shutdown()
