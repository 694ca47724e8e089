"""Lines of `kafka-configs.sh` (`kafka.admin.ConfigCommand`, 4.3) that do the same, in the safe order.

What the tool cannot say becomes a comment: it splits `--add-config` at commas outside of brackets, drops every
bracket and the space around a value, takes letters, digits, `.`, `_` and `-` in a key, knows no APPEND and no SUBTRACT,
and fails when a quota to delete is not set.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from ...model.changes import APPEND, DELETE, SUBTRACT, Change
from ...model.configurable import Configurable
from ...model.grammar import DEFAULT
from ...model.java_text import trimmed
from ..execution.order import waves
from ..kinds.change_kind import ToolWords
from ..kinds.registry import kind_of
from ..sending import grouped
from .subject import Subject, is_bare_secret, is_secret, what
from .text import PlanText, comment, lines, note

_KEY = re.compile(r"[a-zA-Z0-9._-]+")


def as_kafka_configs(subject: Subject, bootstrap: str | None, command_config: str | None) -> PlanText:
    """Its changes in the safe order, those of one entity in one wave together."""
    start = " ".join(_start(bootstrap, command_config))
    tool_lines = [
        line
        for wave in waves(subject.changes)
        for group in grouped(wave).values()
        for line in _entity_lines(start, group, subject.is_seen)
    ]
    return PlanText(lines([*map(comment, (*subject.title, *_warnings(subject, tool_lines, bootstrap))), *tool_lines]))


def _start(bootstrap: str | None, command_config: str | None) -> Iterator[str]:
    yield f"kafka-configs.sh --bootstrap-server {shell(bootstrap) if bootstrap else _BOOTSTRAP}"
    if command_config:
        yield f"--command-config {shell(command_config)}"
    yield "--alter"


_BOOTSTRAP = '"$BOOTSTRAP"'


def _warnings(subject: Subject, tool_lines: Sequence[str], bootstrap: str | None) -> Iterator[str]:
    if not bootstrap:
        yield "BOOTSTRAP=host:port"
    if any(not line.isascii() or "$'" in line for line in tool_lines):
        yield "note: in bash, under a UTF-8 locale, or Java reads other names than are written here"
    if not subject.is_seen:
        yield "note: from wishes alone, without what is set now; a plan's lines raise before they lower"
        if any(_may_fail(change) for change in subject.changes):
            yield "note: the tool fails where a quota to delete is not set"


def _may_fail(change: Change) -> bool:
    """True for a deletion that the tool refuses where nothing is set."""
    return change.op == DELETE and not kind_of(change).tool_deletes_absent


def _entity_lines(start: str, group: Sequence[Change], is_seen: bool) -> Iterator[str]:
    """The line of one entity or resource, after what must be said of its changes.

    Of wishes alone the deletions stand by themselves: one that fails takes nothing else with it.
    """
    sayable, names = [], _names(group[0].resource)
    for change in group:
        problem = "the tool cannot name it" if names is None else _problem(change, is_seen)
        yield from (note(f"{what(change)}: {text}") for text in ([problem] if problem else _remarks(change)))
        if problem is None:
            sayable.append(change)
    whom = _whom(names or ())
    for options in _options(sayable, is_seen):
        yield f"{start} {whom} {options}"


def _options(changes: Sequence[Change], is_seen: bool) -> Iterator[str]:
    added = [_pair(change) for change in changes if change.op != DELETE]
    deleted = [change.key for change in changes if change.op == DELETE]
    both = [f"--add-config {shell(','.join(added))}"] * bool(added)
    both += [f"--delete-config {shell(','.join(deleted))}"] * bool(deleted)
    if is_seen and both:
        yield " ".join(both)
    elif not is_seen:
        yield from both


def _pair(change: Change) -> str:
    value = change.after or ""
    return f"{change.key}=[{value}]" if re.search("[,=]", value) else f"{change.key}={value}"


def _names(resource: Configurable) -> ToolWords | None:
    """The tool's name for it; None where it has none."""
    words = kind_of(resource).tool_words(resource)
    return None if words is None or any(name is not DEFAULT and "\0" in str(name) for _, name in words) else words


def _whom(names: ToolWords) -> str:
    return " ".join(f"--entity-type {kind} {_name_option(name)}" for kind, name in names)


def _name_option(name: object) -> str:
    return "--entity-default" if name is DEFAULT else f"--entity-name {shell(str(name))}"


def shell(text: str) -> str:
    """One word of a shell, on one line: what does not print is spelled in octal, `$'\\033'`, as bash reads it."""
    if text.isprintable():
        return shlex.quote(text)
    return f"$'{''.join(_ESCAPES.get(c) or (c if c.isprintable() else _octal(c)) for c in text)}'"


_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t"}


def _octal(character: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogatepass"))


def _problem(change: Change, is_seen: bool) -> str | None:
    """The reason why the tool cannot do it to what it can name."""
    kind = kind_of(change)
    if not _KEY.fullmatch(change.key) or not kind.tool_takes(change):
        return "the tool does not take this key"
    if change.op == DELETE:
        is_failing = is_seen and _may_fail(change) and kind.is_absent(change)
        return "it is not set, and the tool would fail" if is_failing else None
    if is_bare_secret(change):
        return "a secret is not written down"
    if is_secret(change) and change.reference is not None:
        return "the tool knows no references: put the secret itself here, or into an --add-config-file"
    if change.op in (APPEND, SUBTRACT) and not is_seen:
        return "the tool only sets whole lists; a plan knows the list"
    return _unsayable(change.after or "")


def _unsayable(value: str) -> str | None:
    """Java's `trim` takes all controls for space; a null character ends a shell's word."""
    if "[" in value or "]" in value:
        return "the tool drops the brackets of a value"
    if value != trimmed(value):
        return "the tool drops the space around a value"
    return "no shell can pass a null character" if "\0" in value else None


def _remarks(change: Change) -> Iterator[str]:
    if change.op in (APPEND, SUBTRACT) and change.after != change.wanted:
        yield "the tool only sets whole lists: this is the one that it comes to"
    if change.is_refused:
        yield f"{kind_of(change).judge} refuses it: {change.validated}"
