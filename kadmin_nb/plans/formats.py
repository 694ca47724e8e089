"""Print formats of a stage or a plan: the cell, the kafka-configs.sh lines that do it, a block for a pull request."""

from __future__ import annotations

import re
import shlex
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from ..documents import trimmed
from ..errors import printable
from ..frames.answer import Tabular
from ..frames.blocks import WHOLE
from ..frames.meanings import in_unit, word
from ..model.changes import APPEND, DELETE, SUBTRACT, Change
from ..model.configurable import Configurable
from ..model.entity import entity_type
from ..model.grammar import DEFAULT, format_word
from ..model.resources import WORDS
from ..secrets import is_secret_name
from .kinds import by_kind, kind_of
from .kinds.change_kind import ToolWords
from .sending import grouped, waves


class PlanText(str):
    """A text that shows itself plainly.

    `str()` and files have it as it is. Where names hold characters that a terminal would obey, what is shown
    differs from it: `shown`.
    """

    shown: str

    def __new__(cls, text: str, shown: str | None = None) -> Self:
        text_shown = super().__new__(cls, text)
        text_shown.shown = text if shown is None else shown
        return text_shown

    def __repr__(self) -> str:
        return self.shown


def lines(several: Iterable[str]) -> str:
    """Lines as one text."""
    return "".join(f"{line}\n" for line in several)


def comment(text: str) -> str:
    """A comment of one line, whatever is in it."""
    return f"# {printable(text)}"


def note(text: str) -> str:
    """A comment about a change."""
    return comment(f"note: {text}")


@dataclass(frozen=True)
class Subject:
    """Changes to show.

    `head` is what to say above them, name by name: the plan's id, its cluster, its reason; `told` are the dangers and
    warnings, a line each.
    """

    changes: Sequence[Change]
    head: Mapping[str, str] = field(default_factory=dict)
    told: Sequence[str] = ()

    @property
    def title(self) -> Sequence[str]:
        """The head, and what is told of the changes, as lines of text."""
        return [*(f"{name}: {value}" for name, value in self.head.items()), *self.told]


def is_secret(change: Change) -> bool:
    """True if the value is one that Kafka keeps to itself: it was sensitive before, or its key says so."""
    if change.wanted is None or not kind_of(change).may_be_secret(change.resource):
        return False
    return change.is_secret or not change.old_known or is_secret_name(change.key)


def is_bare_secret(change: Change) -> bool:
    """True if writing the value down would give a secret away."""
    return is_secret(change) and change.reference is None


def what(change: Change) -> str:
    """The change in words, for a comment: a secret is not among them."""
    value = "" if change.wanted is None else f"={'[secure]' if is_bare_secret(change) else change.wanted}"
    return f"row {change.row}, {change.op} {change.key}{value} {change.resource}"


def in_words(changes: Sequence[Change]) -> str:
    """The first change in words, and how many more: a secret is not among them."""
    if not changes:
        return "nothing"
    first, more = changes[0], f", and {len(changes) - 1:,} more" if len(changes) > 1 else ""
    value = "[secure]" if is_secret(first) else in_unit(first.key, first.wanted)
    return f"{word(first.op)} {first.key} of {first.resource}{f': {value}' if value else ''}{more}"


_KEY = re.compile(r"[^\s=~'\"#;{}]+")
_BARE = "a secret is not written down"


def as_cell(subject: Subject) -> PlanText:
    """Its changes, one a line, in their order.

    The grammar has no escapes. A line with characters that do not print is written as it is, and shown as a comment:
    what is copied from a screen must not name somebody else.
    """
    head = [comment(line) for line in (*subject.title, _where(subject.changes))]
    cell_lines = [_cell_line(change) for change in subject.changes]
    shown = (
        line if line.isprintable() else comment(f"take this one from str() or a file: {printable(line)}")
        for line in cell_lines
    )
    return PlanText(lines([*head, *cell_lines]), lines([*head, *shown]))


def _where(changes: Sequence[Change]) -> str:
    strange = (key for kind, mine in by_kind(changes).items() for key in kind.unknown_keys(mine) if _KEY.fullmatch(key))
    again = " --again" * any(change.is_again for change in changes)
    options = "".join(f" --allow-unknown {key}" for key in strange) + again
    return f"below %%kadmin{options}, or for kadmin-nb plan -f FILE{options}"


def _cell_line(change: Change) -> str:
    problem = _problem(change)
    if problem:
        return note(f"{what(change)}: {problem}")
    verb = kind_of(change).verbs[change.op]
    assignment = format_word(change.key, change.wanted) if change.wanted is not None else change.key
    return f"{verb} {assignment} {kind_of(change).line_words(change.resource)}"


def _problem(change: Change) -> str | None:
    """The reason why the grammar cannot say it."""
    if is_bare_secret(change):
        return _BARE
    if not _KEY.fullmatch(change.key) or change.key in WORDS or entity_type(change.key):
        return "no line can name this key"
    return None


def as_markdown(text: str) -> PlanText:
    """A text for a pull request: in a fence longer than any within it, no name can end it, make a link, or be HTML."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return PlanText(lines([f"{fence}diff", text.rstrip("\n"), fence]))


_TOOL_KEY = re.compile(r"[a-zA-Z0-9._-]+")


def as_kafka_configs(subject: Subject, bootstrap: str | None, command_config: str | None) -> PlanText:
    """Its changes as lines of `kafka-configs.sh` (`org.apache.kafka.tools.ConfigCommand`, 4.4), in the safe order.

    What the tool cannot say becomes a comment: it splits `--add-config` at commas outside of brackets, drops every
    bracket and the space around a value, takes letters, digits, `.`, `_` and `-` in a key, knows no APPEND and no
    SUBTRACT, and fails when a quota to delete is not set.
    """
    server = shell(bootstrap) if bootstrap else '"$BOOTSTRAP"'
    properties = f" --command-config {shell(command_config)}" if command_config else ""
    start = f"kafka-configs.sh --bootstrap-server {server}{properties} --alter"
    tool_lines = [
        line
        for wave in waves(subject.changes)
        for group in grouped(wave).values()
        for line in _entity_lines(start, group)
    ]
    notes = [] if bootstrap else ["BOOTSTRAP=host:port"]
    if any(not line.isascii() or "$'" in line for line in tool_lines):
        notes.append("note: run it in bash under a UTF-8 locale, or Java reads other names than are written here")
    return PlanText(lines([*map(comment, (*subject.title, *notes)), *tool_lines]))


def _entity_lines(start: str, group: Sequence[Change]) -> Iterator[str]:
    """The line of one entity or resource, after what must be said of its changes."""
    sayable, names = [], _names(group[0].resource)
    for change in group:
        problem = "the tool cannot name it" if names is None else _tool_problem(change)
        yield from (note(f"{what(change)}: {text}") for text in ([problem] if problem else _remarks(change)))
        if problem is None:
            sayable.append(change)
    words = [f"--entity-type {kind} {_name_option(name)}" for kind, name in names or ()]
    if added := [_pair(change) for change in sayable if change.op != DELETE]:
        words.append(f"--add-config {shell(','.join(added))}")
    if deleted := [change.key for change in sayable if change.op == DELETE]:
        words.append(f"--delete-config {shell(','.join(deleted))}")
    if sayable:
        yield " ".join([start, *words])


def _pair(change: Change) -> str:
    value = change.after or ""
    return f"{change.key}=[{value}]" if re.search("[,=]", value) else f"{change.key}={value}"


def _names(resource: Configurable) -> ToolWords | None:
    """The tool's name for it; None where it has none."""
    words = kind_of(resource).tool_words(resource)
    return None if words is None or any(name is not DEFAULT and "\0" in str(name) for _, name in words) else words


def _name_option(name: object) -> str:
    return "--entity-default" if name is DEFAULT else f"--entity-name {shell(str(name))}"


def shell(text: str) -> str:
    """One word of a shell, on one line: what does not print is spelled in octal, `$'\\033'`, as bash reads it."""
    if text.isprintable():
        return shlex.quote(text)
    escapes: dict[str, str | int | None] = {
        c: "".join(f"\\{byte:03o}" for byte in c.encode("utf-8", "surrogatepass")) for c in text if not c.isprintable()
    }
    return f"$'{text.translate(str.maketrans(escapes | _ESCAPES))}'"


_ESCAPES: dict[str, str | int | None] = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t"}


def _tool_problem(change: Change) -> str | None:
    """The reason why the tool cannot do it to what it can name."""
    kind = kind_of(change)
    if not _TOOL_KEY.fullmatch(change.key) or not kind.tool_takes(change):
        return "the tool does not take this key"
    if change.op == DELETE:
        is_failing = not kind.tool_deletes_absent and kind.is_absent(change)
        return "it is not set, and the tool would fail" if is_failing else None
    if is_bare_secret(change):
        return _BARE
    if is_secret(change) and change.reference is not None:
        return "the tool takes no references: write the secret itself here, or into an --add-config-file"
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
        yield "the tool only sets whole lists: this is the resulting one"
    if change.is_refused:
        yield f"{kind_of(change).judge} refuses it: {change.validated}"


class PrintFormats(Tabular):
    """The printable forms of a stage and a plan. Each is a text that shows itself as it is."""

    @abstractmethod
    def _subject(self) -> Subject:
        """The content of the forms."""

    def _planned(self) -> Subject:
        """The same with the values that are there now."""
        return self._subject()

    def to_cell(self) -> PlanText:
        """The lines below `%%kadmin`, and of the file that `plan -f` reads."""
        return as_cell(self._subject())

    def to_kafka_configs(self, bootstrap: str | None = None, command_config: str | None = None) -> PlanText:
        """Lines of Kafka's own tool, in the safe order, of what is planned; a comment where one line cannot say it.

        Parameters
        ----------
        bootstrap
            The address, `host:port`; None leaves it to the shell's `$BOOTSTRAP`.
        command_config
            The file with the client's properties, where one is needed.
        """
        return as_kafka_configs(self._planned(), bootstrap, command_config)

    def to_markdown(self) -> PlanText:
        """What it shows, as a block for a pull request that colours what is added and removed."""
        return as_markdown(self.as_text(WHOLE))
