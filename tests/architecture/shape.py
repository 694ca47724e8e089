"""`make shape`: how large the library is, how scattered, and how far a line travels in it. A report; nothing fails."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import sys
import threading
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from kafka.net.connection import KafkaConnection
from kafka.net.manager import KafkaConnectionManager
from kafka.protocol.admin import AlterClientQuotasRequest, DescribeClientQuotasRequest

import kadmin_nb as kn
from kadmin_nb.commands import main as kadmin
from kadmin_nb.frames import schemas
from kadmin_nb.plans.stage import Stage
from kadmin_nb.widgets.grid import Grid
from kadmin_nb.widgets.quota_sheet import QuotaSheet
from tests.architecture.sources import ROOT, SOURCES, nodes_of, place_of, tree_of
from tests.widgets.stored_quotas import all_shown

Function = ast.FunctionDef | ast.AsyncFunctionDef
BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.IfExp, ast.ExceptHandler, ast.match_case)
LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
OPENINGS = re.compile(r"(What|Who|Whom|Whose|Which|Whether|Where|Why|How)\b")
"""Words with which a docstring asks rather than tells."""
VAGUE = {
    *(
        "found",
        "given",
        "one",
        "said",
        "named",
        "kept",
        "told",
        "held",
        "asked",
        "got",
        "seen",
        "taken",
        "left",
        "rest",
    ),
    *("own", "theirs", "what", "which", "known", "wanted", "shown", "it", "them", "those", "these"),
}
"""Names that say that something came, and not what it is."""
WALKS = {
    "quota set producer_byte_rate=5MB/s user=shape --apply": AlterClientQuotasRequest,
    "quota resolve user=shape client-id=app": DescribeClientQuotasRequest,
    "%kquota describe user=shape": DescribeClientQuotasRequest,
}
"""Typed lines, and the request that each is about."""
LOG = ROOT / "tests" / "analytics" / "recorded" / "broker-1" / "request.log"
USAGE = {
    f"quota usage {LOG.name} --broker 1 --tz UTC": "parsed_columns",
    f"quota usage {LOG.name} --broker 1 --tz UTC --engine spark": "_read",
}
"""Typed lines, and the function that each comes to; on Spark the last one before its workers."""
OURS = (str(Path(kn.__file__).parent), str(ROOT / "magics"))


def statement_lines(source: Path) -> int:
    """Lines without blanks, comments, docstrings, imports, signatures and decorators."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source.read_text()).readline):
        if token.type not in LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in nodes_of(source):
        is_text = (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        if is_text or isinstance(node, ast.Import | ast.ImportFrom):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        if isinstance(node, Function):
            first = min([decorator.lineno for decorator in node.decorator_list] + [node.lineno])
            lines.difference_update(range(first, node.body[0].lineno))
    return len(lines)


def functions() -> Iterator[tuple[str, Function]]:
    for source in SOURCES:
        for node in nodes_of(source):
            if isinstance(node, Function):
                yield f"{place_of(source)}:{node.lineno} {node.name}", node


def decisions(function: Function) -> int:
    """Branches and loops, those of comprehensions too, and each `and` and `or`."""
    return sum(_weight(node) for node in ast.walk(function))


def _weight(node: ast.AST) -> int:
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    return isinstance(node, BRANCHES)


def code_lines(function: Function) -> int:
    """The length of a function without its docstring."""
    docstring = function.body[0] if ast.get_docstring(function) else None
    documented = (docstring.end_lineno or 0) - docstring.lineno + 1 if docstring else 0
    return (function.end_lineno or 0) - function.lineno + 1 - documented


def size() -> Iterator[str]:
    """How much there is, in all and by room."""
    rooms: Counter[str] = Counter()
    for source in SOURCES:
        parts = source.relative_to(ROOT).parts
        rooms[parts[0] if parts[0] != "kadmin_nb" else parts[1] if len(parts) > 2 else "(root)"] += statement_lines(
            source
        )
    names = Counter(word for source in SOURCES for word in re.findall(r"\b\w+\b", source.read_text()))
    private = [function.name for _, function in functions() if re.match("_(?!_)", function.name)]
    small = sum(source.read_text().count("\n") < 40 for source in SOURCES)
    yield f"{len(SOURCES)} files, {small} of them under 40 lines; {rooms.total()} lines of statements"
    yield f"{len([*functions()])} functions, {sum(names[name] == 2 for name in private)} private ones used once"
    yield "by room: " + ", ".join(f"{room} {lines}" for room, lines in rooms.most_common())


def largest() -> Iterator[str]:
    """The functions that take longest to read."""
    for measure, unit in ((code_lines, "lines"), (decisions, "decisions")):
        ordered = sorted(((measure(function), place) for place, function in functions()), reverse=True)
        yield f"functions of most {unit}: " + ", ".join(f"{place} {count}" for count, place in ordered[:10])


def names() -> Iterator[str]:
    """Names that a stranger has to look up."""
    files = Counter(name for source in SOURCES for name in set(_module_level_names(tree_of(source))))
    common = [f"{name} {count}" for name, count in files.most_common() if count > 3 and not name.startswith("__")]
    bound = Counter(name for source in SOURCES for name in _bound_names(source))
    vague = {name: count for name, count in bound.items() if name in VAGUE}
    yield f"names defined in more than three files: {', '.join(common)}"
    yield f"names that do not say what they are: {sum(vague.values())} of {bound.total()}"
    texts = ((place, ast.get_docstring(function) or "") for place, function in functions())
    asking = [place for place, text in texts if OPENINGS.match(text)]
    yield f"docstrings that ask rather than tell: {len(asking)}" + "".join(f"\n  {place}" for place in asking[:10])


def _module_level_names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def _bound_names(source: Path) -> Iterator[str]:
    for node in nodes_of(source):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def walks() -> Iterator[str]:
    """The functions and files of ours that a typed line is in when its request is sent."""
    to_the_thread: list[tuple[str, str]] = []
    walked: dict[type, list[tuple[str, str]]] = {}
    call_soon, send_request = KafkaConnectionManager.call_soon, KafkaConnection.send_request

    def handed_over(manager: Any, *args: Any) -> Any:
        if threading.current_thread() is threading.main_thread():
            to_the_thread[:] = _frames_of_ours(sys._getframe(1))
        return call_soon(manager, *args)

    def sent(connection: Any, request: Any, **options: Any) -> Any:
        if not getattr(request, "validate_only", False):
            walked[type(request)] = [*_frames_of_ours(sys._getframe(1)), *to_the_thread]
        return send_request(connection, request, **options)

    KafkaConnectionManager.call_soon, KafkaConnection.send_request = handed_over, sent
    with kn.local.start() as kafka:
        for line, request in WALKS.items():
            _run(f"{line} --cluster {kafka.bootstrap}")
            frames = next(frames for kind, frames in walked.items() if issubclass(kind, request))
            yield from _drawn(line, frames)
            walked.clear()


def walks_without_requests() -> Iterator[str]:
    """The same of usage on both engines, and of a cell that is typed into the quota editor, to its plan's row."""
    for line, target in USAGE.items():
        yield from _drawn(line, _frames_at(target, lambda line=line: _run(line.replace(LOG.name, str(LOG)))))
    key = "producer_byte_rate"
    stored = {"entity": "user=shape", "level": "USER", "user": "shape", "key": key, "value": 1e6}
    quotas = all_shown(schemas.table(schemas.QUOTAS, [stored]))
    grid = Grid(QuotaSheet(quotas, Stage(lambda *edits: pytest.fail("nothing is planned here"))))
    cell = {"position": 0, "key": "user=shape", "column": key, "text": "5MB/s"}
    edit = {"kind": "edit", "view": "v", "cells": [cell]}
    grid._received(grid, {"kind": "hello", "view": "v", "epoch": 0}, [])
    yield from _drawn("a cell of the quota editor", _frames_at("_plan_row", lambda: grid._received(grid, edit, [])))


def _run(line: str) -> None:
    """Run a typed line, of the terminal or of a notebook, and let nobody see its answer."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.suppress(SystemExit):
        if not line.startswith("%"):
            sys.argv = ["kadmin-nb", *line.split()]
            kadmin()
        shell = InteractiveShell.instance()
        shell.run_line_magic("load_ext", "kadmin_nb")
        shell.run_line_magic(*line.removeprefix("%").split(" ", 1))


def _frames_at(target: str, act: Callable[[], object]) -> list[tuple[str, str]]:
    """The functions and files of ours that an act is in when it first comes to a function of that name."""
    found: list[list[tuple[str, str]]] = []

    def look(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_name == target and frame.f_code.co_filename.startswith(OURS):
            found.append([*_frames_of_ours(frame)])

    sys.setprofile(look)
    threading.setprofile(look)
    try:
        act()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return found[0]


def _drawn(line: str, frames: Sequence[tuple[str, str]]) -> Iterator[str]:
    """How far a line travels, and through what, the outermost first."""
    yield f"{line}: {len(frames)} frames in {len({file for file, _ in frames})} files"
    yield from (f"  {file.removeprefix(f'{ROOT}/')} {function}" for file, function in reversed(frames))


def _frames_of_ours(frame: FrameType | None) -> Iterator[tuple[str, str]]:
    """The file and name of each function of ours that this frame was called from, the innermost first."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(OURS):
            yield frame.f_code.co_filename, frame.f_code.co_qualname
        frame = frame.f_back


def report(*parts: Iterable[str]) -> None:
    for part in parts:
        print(*part, sep="\n")
        print()


if __name__ == "__main__":
    report(size(), largest(), names(), walks(), walks_without_requests())
