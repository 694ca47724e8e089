"""Typed lines and what they print, as a text in which nothing depends on the machine, the time or chance."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from tests.command_result import CommandResult

_HASHES = r"\b([0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{12})\b"
_SHORT_HASHES = (
    r"(?<=[Pp]lan )[0-9a-f]{8}\b|(?<=plan log )[0-9a-f]{8}\b|(?<=rollback )[0-9a-f]{8}\b|(?<=roll back )[0-9a-f]{8}\b"
    r"|(?<=another plan, )[0-9a-f]{8}\b"
    r"|(?<=plan id: )[0-9a-f]{8}\b|^[0-9a-f]{8}(?=  \d)"
    r"|(?<=  )[0-9a-f]{8}(?=$|  me@host|  \d{4}-)"
)
ID = re.compile(f"{_HASHES}|{_SHORT_HASHES}", re.MULTILINE)
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?")
LASTED = re.compile(r"(?<![\w.])\d+(\.\d+)?(e-\d+)?( ms| s)\b|(?<=_ms\": )\d+")
PACKAGES = {"kadmin_nb", *(re.match(r"[\w.-]+", line)[0] for line in metadata.requires("kadmin_nb") or ())}
VERSION = re.compile(rf"\b({'|'.join(map(re.escape, sorted(PACKAGES)))}) \d+(\.\w+)+")
PYTHON = re.compile(r"\bPython \d+(\.\w+)+, \w+ \w+")
WIDE = re.compile(r"(?<=\S) {3,}(?=\S)|─+")


@dataclass
class Transcript:
    """What was typed at a desk, and what came back.

    `{plan}` in a line stands for the id of the plan that was printed last, BOOTSTRAP for the address of the Kafka.
    """

    kadmin: Callable[..., CommandResult]
    notebook: Any
    desk: Path
    bootstrap: str
    lines: list[str] = field(default_factory=list)
    plan: str = ""

    def type(self, lines: Iterable[str]) -> str:
        """The transcript of the lines."""
        for line in lines:
            answer = self.answer(line)
            if ids := re.findall(r"[Pp]lan ([0-9a-f]{8})\b", answer):
                self.plan = ids[-1]
            self.lines += [f"$ {line}", self.settled(answer), ""]
        return "\n".join(self.lines)

    def answer(self, line: str) -> str:
        """What a line prints, of a terminal or, where it begins with %, of a notebook."""
        typed = line.replace("{plan}", self.plan).replace("BOOTSTRAP", self.bootstrap)
        if typed.startswith("%"):
            return self._shown(typed.replace("\\n", "\n"))
        result = self.kadmin(*shlex.split(typed))
        code = f"exit {result.code}" if result.code else ""
        return "\n".join(filter(None, [result.out.rstrip(), result.err.rstrip(), code]))

    def _shown(self, cell: str) -> str:
        """A cell's value as text, or its error as the notebook shows it."""
        result = self.notebook.cell(cell)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            return "\n".join(error._render_traceback_())
        forms, _ = self.notebook.shell.display_formatter.format(result.result)
        return forms.get("text/plain", "")

    def settled(self, text: str) -> str:
        """The text without what another run would print otherwise."""
        varied = text.replace(self.bootstrap, "localhost:9092").replace(str(self.desk), "DESK")
        varied = re.sub(r"(?<=127\.0\.0\.1)(\s+)\d+", r"\1PORT", varied)
        varied = LASTED.sub("LASTED", varied)
        varied = VERSION.sub(r"\1 VERSION", PYTHON.sub("Python VERSION, SYSTEM", varied))
        if varied != text:
            varied = WIDE.sub("  ", varied)
        varied = TIME.sub(lambda match: re.sub(r"\d", "0", re.sub(r"\.\d+", "", match[0])), varied)
        return "\n".join(line.rstrip() for line in ID.sub(lambda match: "x" * len(match[0]), varied).split("\n"))
