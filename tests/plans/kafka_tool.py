"""Kafka's own `org.apache.kafka.tools.ConfigCommand`."""

from __future__ import annotations

from dataclasses import dataclass

from py4j.java_gateway import CallbackServerParameters, GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JError

from kadmin_nb.java import find_java
from tests.kafka_jars import tools_classpath

SHORT_LIVED = ["-Xmx256M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
"""Options of a JVM that lives for seconds: C2 would compile for longer than its code runs."""


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

    def run(self, words: list[str]) -> ToolRun:
        """Run one line from its first word to its exit status."""
        jvm, exits = self.gateway.jvm, _Exits()
        out, err = jvm.java.io.ByteArrayOutputStream(), jvm.java.io.ByteArrayOutputStream()
        jvm.org.apache.kafka.common.utils.internals.Exit.setExitProcedure(exits)
        jvm.java.lang.System.setOut(jvm.java.io.PrintStream(out, True, "UTF-8"))
        jvm.java.lang.System.setErr(jvm.java.io.PrintStream(err, True, "UTF-8"))
        texts = self.gateway.new_array(jvm.java.lang.String, len(words))
        for place, word in enumerate(words):
            texts[place] = word
        try:
            jvm.org.apache.kafka.tools.ConfigCommand.main(texts)
        except Py4JError:  # where PySpark is loaded it takes the error for one of its own Java, and fails over it
            assert exits.code is not None
        return ToolRun(exits.code or 0, out.toString("UTF-8"), err.toString("UTF-8"))

    def close(self) -> None:
        self.gateway.shutdown()
