"""`python docs/reference/generate.py`: write these pages and frames.json out of the code, as `make reference` does.

Everything is in the order in which it is declared. Signatures are as they are written, so that no page depends on the
machine; `tests/architecture/test_reference.py` fails where a page is older than the code.
"""

from __future__ import annotations

import inspect
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pyarrow as pa

import kadmin_nb as kn
from kadmin_nb import errors
from kadmin_nb.admin import lease
from kadmin_nb.cluster.changing import Changes
from kadmin_nb.cluster.configs import Configs
from kadmin_nb.cluster.observation import ObservationAnswer
from kadmin_nb.cluster.quotas import Quotas
from kadmin_nb.cluster.users import Scram
from kadmin_nb.commands.click_glue import SharedOption
from kadmin_nb.commands.root import root
from kadmin_nb.frames import schemas
from kadmin_nb.frames.answer import Tabular
from kadmin_nb.frames.frame import Field, Frame
from kadmin_nb.model import rights
from kadmin_nb.model.client_configs import ClientEntity
from kadmin_nb.model.configurable import Configurable
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.figures import SIZE_UNITS
from kadmin_nb.model.levels import LEVELS, SHARED
from kadmin_nb.model.quota_keys import USER_CLIENT_KEYS
from kadmin_nb.model.resources import Resource
from kadmin_nb.model.scram import ScramUser
from kadmin_nb.resolution.rules import entity_at
from kadmin_nb.runbooks import catalogue
from kadmin_nb.state.compare import Diff
from kadmin_nb.usage.backtesting import BacktestAnswer, ImpactAnswer

HERE = Path(__file__).resolve().parent
NOTE = "<!-- Made by docs/reference/generate.py (make reference). Do not edit. -->\n\n"
MODULES = (
    "charts",
    "clients",
    "errors",
    "fleets",
    "local",
    "runbooks",
    "sql",
    "state",
    "usage",
    "widgets",
)
CLASSES = {
    "cluster": (kn.Cluster, Quotas, Configs, Scram, Changes, ObservationAnswer),
    "plans": (kn.Stage, kn.Plan, kn.ApplyOptions),
    "answers": (kn.Answer, kn.Snapshot, Diff, ImpactAnswer, BacktestAnswer, Tabular),
}
"""The pages of classes: those of kn, and those that are public because something public is or gives one."""

CLASS_PAGES = {
    "cluster": ("A cluster", "What `kn.connect` gives, and what its attributes and `observe` give."),
    "plans": ("Stage and plan", "Changes: staged, planned, applied, rolled back."),
    "answers": ("Answers", "What commands and functions answer with, and what every answer can do."),
}
"""Their titles, and what they say first."""

FRAMES_INTRO = """\
# Frames

The columns of every frame, from `kadmin_nb/frames/schemas.py`; [frames.json](frames.json) is the JSON Schema of their
rows, and the tables that Spark and Delta keep have their comments. A frame of several clusters leads with `cluster_id`
(string). A *word* is a string from a small set: dictionary-encoded in Arrow, a plain string in Spark. The columns and
types hold for zero rows too. A quota's value, its limits and its use are in the unit of the key; columns that end in
`_ms` are milliseconds, in `_s` seconds; times are UTC.
"""

API_INTRO = """\
# Python

What `import kadmin_nb as kn` offers. [frames.md](../frames.md) has the columns of the frames in capitals. A page has
one module, or classes that belong together.
"""


class Written(str):
    """A text that shows itself in a signature without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def pages() -> dict[Path, str]:
    """The text of each page."""
    whole = {
        "frames": frames,
        "cli": cli,
        "errors": errors_page,
        "rights": rights_page,
        "runbooks": runbooks,
        "performance": performance,
        "tried": tried,
    }
    schema = json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"
    return {
        HERE / "frames.json": schema,
        **{HERE / "api" / f"{name}.md": NOTE + "\n".join(parts) for name, parts in api().items()},
        **{HERE / f"{name}.md": NOTE + "\n".join(parts()) for name, parts in whole.items()},
        **dict(
            [_with_part("how-quotas-resolve.md", "levels", levels()), _with_part("resolver.js", "tables", tables())]
        ),
    }


def _with_part(name: str, part: str, lines: Iterator[str]) -> tuple[Path, str]:
    """A page of docs/explanation whose lines between two comments are made."""
    path = HERE.parent / "explanation" / name
    before, start, rest = re.split(rf"^(.*{part}: made by.*\n)", path.read_text(), maxsplit=1, flags=re.MULTILINE)
    _, end, after = re.split(rf"^(.*end of {part}.*\n)", rest, maxsplit=1, flags=re.MULTILINE)
    return path, before + start + "\n".join(lines) + "\n" + end + after


def levels() -> Iterator[str]:
    """The levels of quotas, the most specific first."""
    yield "| | quota of | who shares the limit |\n|---|---|---|"
    for level in LEVELS:
        yield f"| {level.number + 1} | `{entity_at(level, 'NAME', 'NAME')}` | {SHARED[level.name]} |"


def tables() -> Iterator[str]:
    """What the script of that page reads: levels, who shares, keys and units, as the rule has them."""
    steps = [{"name": level.name, "user": level.user, "client_id": level.client_id} for level in LEVELS]
    named = {"LEVELS": steps, "SHARED": SHARED, "KEYS": USER_CLIENT_KEYS, "UNITS": SIZE_UNITS}
    for name, value in named.items():
        yield f"const {name} = {json.dumps(value, indent=2)};"


def frames() -> Iterator[str]:
    """The page of the frames' columns."""
    yield FRAMES_INTRO
    for name, frame in schemas.FRAMES.items():
        yield f"## {name}\n\n{frame.comment()}\n{_differ_by(frame)}"
        yield "| column | type | unit | null | meaning |\n|---|---|---|---|---|"
        yield "".join(f"| {' | '.join(_cells(field))} |\n" for field in frame.fields.values())


def _differ_by(frame: type[Frame]) -> str:
    """The columns by which the rows of a frame differ, where they do by some."""
    return f"\nRows differ by {', '.join(f'`{name}`' for name in frame.key_columns)}.\n" if frame.key_columns else ""


def _cells(field: Field) -> list[str]:
    return [f"`{field.name}`", _type(field.type), field.unit, "may be" if field.null else "", field.meaning]


def _type(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return "word"
    if pa.types.is_list(kind):
        return f"list of {_type(kind.value_type)}"
    if pa.types.is_struct(kind):
        return f"({', '.join(f'`{field.name}` {_type(field.type)}' for field in kind)})"
    return str(kind)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of each frame's rows, as `--json` writes them."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {name: frame.json_schema() for name, frame in schemas.FRAMES.items()},
    }


CLI_INTRO = """\
# Command line

Every command of `kadmin-nb`, with its options. In a notebook `%kquota`, `%kconfig`, `%kplan` and `%kadmin` take the
same words. [commands.md](../commands.md) has the words that name users, client-ids and topics.

## Options of most commands
"""

SHARED_BY = 12
"""An option of so many commands is described once."""


def cli() -> Iterator[str]:
    """The page of the commands, out of the click tree."""
    yield CLI_INTRO
    commands = list(_commands(root, click.Context(root, info_name="kadmin-nb")))
    counted = Counter(row for command, _ in commands for row in _option_rows(command))
    shared = [row for row, times in counted.items() if times >= SHARED_BY]
    yield _option_table(shared)
    for command, context in commands:
        arguments = command.collect_usage_pieces(context)
        yield f"## {context.command_path}\n\n```\n{' '.join([context.command_path, *arguments])}\n```\n"
        yield _help_text(command, context)
        if own := [row for row in _option_rows(command) if row not in shared]:
            yield _option_table(own)


def _commands(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """Each command that can be run, with its context."""
    if not isinstance(command, click.Group):
        yield command, context
        return
    for name in command.list_commands(context):
        verb = command.get_command(context, name)
        if verb is not None and not verb.hidden:
            yield from _commands(verb, click.Context(verb, info_name=name, parent=context))


def _option_rows(command: click.Command) -> Iterator[tuple[str, str]]:
    for option in command.params:
        if isinstance(option, SharedOption):
            yield option.described(_NOWHERE)
        elif isinstance(option, click.Option) and not option.hidden and (record := option.get_help_record(_NOWHERE)):
            yield record


_NOWHERE = click.Context(click.Command("kadmin-nb"))


def _option_table(rows: list[tuple[str, str]]) -> str:
    lines = (f"| `{name.replace('|', ', ')}` | {_in_a_cell(text)} |\n" for name, text in rows)
    return "| option | |\n|---|---|\n" + "".join(lines)


def _in_a_cell(text: str) -> str:
    return _without_tags(text).replace("|", ", ")


def _without_tags(text: str) -> str:
    """A text in which `<default>` is code and no tag."""
    return re.sub(r"(?<!`)<([^>]*)>", r"`<\1>`", text)


def _help_text(command: click.Command, context: click.Context) -> str:
    """A command's help as Markdown: its examples are blocks."""
    parts = []
    for part in _paragraphs(inspect.cleandoc(command.help or "").replace("{here}", context.command_path)):
        is_block = part.startswith("\b")
        parts.append(f"```\n{part[1:].strip()}\n```" if is_block else _without_tags(part))
    return "\n\n".join(parts) + "\n"


REMEDIES: dict[type[BaseException], str] = {
    errors.UsageError: "Correct the words; the hint names the nearest one.",
    errors.ConnectionFailed: "`kadmin-nb doctor` tries the connection step by step.",
    errors.AuthenticationFailed: "Check user, password and mechanism; `kadmin-nb doctor` shows which were used.",
    errors.NotAuthorized: "`kadmin-nb may-i` prints the line of `kafka-acls.sh` that grants the right.",
    errors.NotFound: "Check the name; a hint has the nearest one.",
    errors.Invalid: "Change the value; the message has the broker's words.",
    errors.Unsupported: "Use a newer broker, or install the extra that the hint names.",
    errors.NotKnowable: "Read the message: it says what was not seen. Of a custom quota callback, ask its owner.",
    errors.PlanRefused: "Read the message; nothing was sent.",
    errors.Conflict: "Make the plan again.",
    errors.Dangerous: "If you mean it, apply it with `--allow 'KEY ROW'` and `--reason`.",
    errors.Expired: "Make the plan again.",
    errors.Locked: "Try again later; `--wait-lease` waits longer, and `--steal-lock` takes the lease over.",
    errors.WrongCluster: "Apply it to the cluster that it was made for.",
    errors.NeedsLook: "Look: the record and the page of the run have the rows. To run it again finds the same.",
    errors.TimedOut: "After a change, `kadmin-nb plan apply ID` checks what happened.",
    errors.PartlyFailed: "The rows say what failed; `kadmin-nb plan apply ID` goes on.",
    errors.Interrupted: "`kadmin-nb plan apply ID` goes on.",
}
"""What to do, by error."""


def errors_page() -> Iterator[str]:
    """The page of exit codes, errors, and Kafka's codes."""
    yield "# Errors and exit codes\n\n## Exit codes\n\n| code | means |\n|---|---|"
    source = inspect.getsource(errors.ExitState)
    for name, number, meaning in re.findall(r'    ([A-Z_]+) = (\d+)(?:\n    """(.*)""")?', source):
        yield f"| {number} | {meaning or name.lower().replace('_', ' ')} |"
    yield "\n`kafka-configs` and `scram-credentials` exit with 0 or 1, as Kafka's own tools do.\n"
    yield "## Errors\n\nA command prints one line, `Name: message`, and a hint. In Python the name is the class.\n"
    yield "| error | exit code | means | what to do |\n|---|---|---|---|"
    for kind, remedy in REMEDIES.items():
        state = kind.exit_state if isinstance(kind.exit_state, int) else EXIT_OF[kind]
        meaning = " ".join(_paragraphs(inspect.getdoc(kind) or "")[0].split())
        yield f"| `{kind.__name__}` | {state:d} | {meaning} | {remedy} |"
    yield "\n## Kafka's codes\n\nEach code of a broker becomes one of these errors; any other becomes `Invalid`.\n"
    yield "| code | error |\n|---|---|"
    for code, kind in errors._CLASS_OF_CODE.items():
        yield f"| `{code}` | `{kind.__name__}` |"
    yield ""


EXIT_OF = {errors.UsageError: errors.ExitState.WRONG_USAGE, errors.PartlyFailed: errors.ExitState.PARTLY}
"""The exit code of those that have one of several: the usual one."""

TARGETS: dict[str, Configurable] = {
    "quotas": Entity.of({"user": "NAME"}),
    "configs of a topic": Resource("TOPIC", "NAME"),
    "configs of a group": Resource("GROUP", "NAME"),
    "configs of brokers, loggers, client-metrics": Resource("BROKER", "1"),
    "SCRAM credentials": ScramUser("NAME"),
    "dynamic client configs": ClientEntity("NAME"),
}
"""One of each kind of target that rights differ by."""


RIGHTS_INTRO = """\
# Rights by command

The ACL operations that the brokers check. `kadmin-nb may-i` asks a live cluster for yours.

| about | to see it: `describe`, `resolve`, `why`, a plan | to change it: `set`, `remove`, `reset`, `apply` |
|---|---|---|"""

RIGHTS_END = """
ALTER_CONFIGS includes DESCRIBE_CONFIGS. The lease also needs WRITE on the transactional id `__kadmin_nb_lease`. Without
these rights a plan is applied without the lease, and the result says so.
"""


def rights_page() -> Iterator[str]:
    """The page of the rights that commands need."""
    yield RIGHTS_INTRO
    for about, target in TARGETS.items():
        yield f"| {about} | {rights.to_describe(target)} | {rights.to_alter(target)} |"
    yield "\n| command | needs besides |\n|---|---|"
    for command, needed in {
        "`users`": [rights.on_cluster("DESCRIBE")],
        "`export`, `history record`": [rights.on_cluster("DESCRIBE_CONFIGS")],
        "`plan apply`, for the lease that keeps two editors apart": [
            rights.on_topic(operation, lease.TOPIC) for operation in ("CREATE", "DESCRIBE", "READ", "WRITE")
        ],
        "`observe`": [rights.to_alter(TARGETS["configs of brokers, loggers, client-metrics"])],
    }.items():
        yield f"| {command} | {', '.join(map(str, needed))} |"
    yield RIGHTS_END


def runbooks() -> Iterator[str]:
    """The page of the runbooks that come with kadmin_nb."""
    yield "# Runbooks that come with kadmin_nb\n\n[runbooks.md](../runbooks.md) says how they run.\n"
    for runbook in catalogue.runbooks():
        yield f"## {runbook.name}\n\n{runbook.description}\n\n| parameter | type | default | |\n|---|---|---|---|"
        for each in runbook.parameters:
            yield f"| `{each.name}` | {each.kind} | `{each.default!r}` | {_in_a_cell(each.help)} |"
        yield ""


PERFORMANCE_INTRO = """\
# Performance

`make bench` measures kadmin_nb beside the tool that people would use otherwise, in the same run, and fails if a bound
is missed; `make bench-full` does it at full size. A ratio below 1 means that the first of the two takes less. Times
depend on the machine; ratios depend on it less. `benchmarks/` has the code.
"""


def performance() -> Iterator[str]:
    """The page of the committed figures; `make bench` writes such a file, out/bench.json."""
    measured = json.loads((HERE / "figures.json").read_text())
    yield PERFORMANCE_INTRO
    size = "at full size" if measured["full"] else "at the daily size"
    yield f"Measured on {measured['at'][:10]}, {size}, on {measured['machine']}.\n"
    yield "| first / second | ratio | bound | |\n|---|---|---|---|"
    for row in measured["figures"]:
        times = [f"{row[side]:,}" for side in ("ours", "reference") if row[side] is not None]
        note = "; ".join(filter(None, [" and ".join(times), _in_a_cell(row["note"])]))
        yield f"| {row['figure']} | {row['ratio']} | {row['bound']} | {note} |"
    yield ""


TRIED_INTRO = """\
# Versions and systems

What the tests passed on. Each row is of the run in which most tests passed on that version: a whole run for what is
locked, chosen tests for the others (`tests/other_versions`, `make test-versions`). They are counted by
`python -m pytest tests --tried out/tried.json`, and committed as `tried.json` beside this page.

macOS and Windows are in the hosted workflows and were not run where this page was made. On Windows everything but
`local`, `demo` and what `observe` starts should work: a test types 25 lines without the names that Python lacks there.
"""


def tried() -> Iterator[str]:
    """The page of the versions that tests passed on, the most used of each subject first."""
    rows = json.loads((HERE / "tried.json").read_text())
    yield TRIED_INTRO
    yield "| | version | tests passed | on |\n|---|---|---|---|"
    for row in sorted(rows, key=lambda row: (TRIED.index(row["what"]), -row["tests"])):
        yield f"| {row['what']} | {row['version']} | {row['tests']:,} | {row['on']} |"
    yield ""


TRIED = (
    "Kafka", "Python", "PySpark", "pandas", "pyarrow", "confluent-kafka", "ipython", "ipywidgets", "jupyterlab",
    "marimo", "Chromium", "system",
)  # fmt: skip


def api() -> dict[str, Iterator[str]]:
    """The pages of the public names."""
    return {
        "index": api_index(),
        **{name: _class_page(name) for name in CLASSES},
        **{name: _module(name) for name in MODULES},
    }


def api_index() -> Iterator[str]:
    """The page of what stands in kn itself, and where all else is."""
    yield API_INTRO + "\n" + _example("kn")
    yield "| page | |\n|---|---|"
    for name, (title, first) in CLASS_PAGES.items():
        yield f"| [{title}]({name}.md) | {first} |"
    for name in MODULES:
        yield f"| [kn.{name}]({name}.md) | {_in_a_cell(_first(getattr(kn, name)))} |"
    elsewhere = {*MODULES, *(kind.__name__ for kinds in CLASSES.values() for kind in kinds), *errors.__all__}
    yield "\nErrors such as `kn.NotFound` are those of [kn.errors](errors.md).\n"
    yield from _names(kn, "kn", [name for name in kn.__all__ if name not in elsewhere])


def _class_page(name: str) -> Iterator[str]:
    title, first = CLASS_PAGES[name]
    yield f"# {title}\n\n{first}\n\n{_example(name)}"
    for kind in CLASSES[name]:
        yield f"## {_public_name(kind)}\n"
        yield from _class(kind)


def _public_name(kind: type) -> str:
    return f"kn.{kind.__name__}" if kind.__name__ in kn.__all__ else kind.__name__


def _module(name: str) -> Iterator[str]:
    module = getattr(kn, name)
    yield f"# kn.{name}\n\n{_first(module)}\n\n{_example(name)}"
    yield "| name | |\n|---|---|"
    for each in module.__all__:
        text = _in_a_cell(_first(getattr(module, each)))
        yield f"| [{each}](#{f'kn{name}{each}'.lower()}) | {text} |"
    yield ""
    yield from _names(module, f"kn.{name}", module.__all__)


def _example(name: str) -> str:
    """The example of a page; the tests run it."""
    return f"```python\n{(HERE / 'examples' / f'{name}.py').read_text()}```\n"


def _first(thing: Any) -> str:
    """The first paragraph of a docstring in one line; nothing of a value that has none of its own."""
    if isinstance(thing, dict | tuple | frozenset):
        return ""
    return " ".join(_paragraphs(inspect.getdoc(thing) or "")[0].split())


def _names(module: ModuleType, prefix: str, names: list[str]) -> Iterator[str]:
    for name in names:
        value = getattr(module, name)
        yield f"## {prefix}.{name}\n"
        yield from _class(value) if inspect.isclass(value) else _value(name, value)


def _value(name: str, value: Any) -> Iterator[str]:
    if inspect.isfunction(value):
        yield _call(name, value)
    elif type(value).__module__.startswith("kadmin_nb"):
        yield f"`{value!r}`: {_paragraphs(inspect.getdoc(value) or '')[0]}\n"
    else:
        yield "\n".join(f"- `{item!r}`" for item in value) + "\n"


def _class(kind: type) -> Iterator[str]:
    """A class: its text, its public bases, and its public members with those of bases that are not public."""
    bases = [base.__name__ for base in kind.__mro__[1:] if base in PUBLIC]
    yield _text(kind) + (f"\nA kind of `{bases[0]}`.\n" if bases else "")
    for name, member in _members(kind).items():
        yield from _member(f"{kind.__name__}.{name}", member)


PUBLIC = {
    *(kind for kinds in CLASSES.values() for kind in kinds),
    *(getattr(errors, name) for name in errors.__all__),
}
"""The classes that a page has: what they give is not told again where another is a kind of them."""


def _members(kind: type) -> dict[str, Any]:
    """The public members of a class, in order, and those that it has from a base of ours without a page."""
    found = {name: member for name, member in vars(kind).items() if not name.startswith("_")}
    for base in kind.__mro__[1:]:
        if base in PUBLIC or not base.__module__.startswith("kadmin_nb"):
            break
        found = {**{name: member for name, member in vars(base).items() if not name.startswith("_")}, **found}
    return found


def _member(name: str, member: Any) -> Iterator[str]:
    if isinstance(member, property) and isinstance(member.fget, attrgetter):
        return  # a call of somebody else's class, which it passes on
    if isinstance(member, property | cached_property):
        yield f"### {name}\n\n{_text(member)}"
    elif isinstance(member, classmethod | staticmethod):
        yield f"### {name}\n\n{_call(name, member.__func__)}"
    elif inspect.isfunction(member):
        yield f"### {name}\n\n{_call(name, member)}"


def _call(name: str, function: Any) -> str:
    return f"```python\n{name}{_signature(function)}\n```\n\n{_text(function)}"


def _signature(function: Any) -> str:
    """The parameters and the result as they are written, without `self`."""
    signature = inspect.signature(function)
    parameters = [_parameter(p) for name, p in signature.parameters.items() if name not in ("self", "cls")]
    shown = signature.replace(parameters=parameters, return_annotation=_as_written(signature.return_annotation))
    return str(shown) if len(str(shown)) < 100 else _wrapped(shown)


def _wrapped(signature: inspect.Signature) -> str:
    """A parameter a line."""
    bare = signature.replace(return_annotation=inspect.Signature.empty)
    result = str(signature)[len(str(bare)) :]
    return "(\n" + "".join(f"    {line},\n" for line in _parameter_lines(bare)) + f"){result}"


def _parameter_lines(signature: inspect.Signature) -> Iterator[str]:
    only_by_name = False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            only_by_name = True
        if parameter.kind is parameter.KEYWORD_ONLY and not only_by_name:
            only_by_name = True
            yield "*"
        yield str(parameter)


def _parameter(parameter: inspect.Parameter) -> inspect.Parameter:
    annotation, default = _as_written(parameter.annotation), _default(parameter.default)
    return parameter.replace(annotation=annotation, default=default)


def _as_written(value: Any) -> Any:
    """A text for an annotation without quotes; nothing for none."""
    return Written(value) if isinstance(value, str) else value


def _default(value: Any) -> Any:
    """A default that reads the same on every machine: functions by name, our own values without their fields."""
    if inspect.isfunction(value):
        return Written(value.__name__)
    if type(value).__module__.startswith("kadmin_nb") and "(" in repr(value):
        return Written(f"{type(value).__name__}(…)")
    return Written("…") if " at 0x" in repr(value) else value


OF_CONFLUENT_KAFKA = ".. py:"
"""The beginning of a docstring that a wrapper of ours inherits: Sphinx's words, of the installed version."""

SECTION = re.compile(r"(Parameters|Returns|Yields|Raises|Warns)\n-+$")


def _text(thing: Any) -> str:
    """The first paragraph of a docstring, and its sections as lists."""
    text = inspect.getdoc(thing) or ""
    first, *further = _paragraphs("As confluent-kafka's." if text.startswith(OF_CONFLUENT_KAFKA) else text)
    return "\n".join([f"{first}\n", *(_section(part) for part in _sections("\n\n".join(further)))])


def _paragraphs(text: str) -> list[str]:
    return text.strip().split("\n\n")


def _sections(text: str) -> list[str]:
    """The parts of a docstring that begin with a title and a rule below it."""
    parts = re.split(r"^(?=\w+\n-+$)", text, flags=re.MULTILINE)
    return [part for part in parts if SECTION.match("\n".join(part.split("\n")[:2]))]


def _section(part: str) -> str:
    title, _, *lines = part.rstrip().split("\n")
    return f"{title}:\n\n{_terms(lines)}\n"


def _terms(lines: list[str]) -> str:
    """Unindented lines are terms, indented ones say what they are."""
    terms = re.split(r"\n(?=\S)", "\n".join(lines).strip("\n"))
    return "\n".join(f"- `{term.partition(chr(10))[0]}`{_meaning(term)}" for term in terms)


def _meaning(term: str) -> str:
    meaning = " ".join(line.strip() for line in term.split("\n")[1:])
    return f": {meaning.strip()}" if meaning.strip() else ""


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
