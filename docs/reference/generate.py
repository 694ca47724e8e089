"""`python docs/reference/generate.py`: write these pages and frames.json out of the code, as `make reference` does.

Everything is in the order in which it is declared. Signatures are as they are written, so that no page depends on the
machine; `tests/architecture/test_reference.py` fails where a page is older than the code.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

import kadmin_nb as kn
from kadmin_nb.cluster.configs import Configs
from kadmin_nb.cluster.quotas import Quotas
from kadmin_nb.cluster.scram import Scram
from kadmin_nb.comparing.diff_answer import Diff
from kadmin_nb.frames import schemas
from kadmin_nb.frames.answer import Tabular
from kadmin_nb.frames.frame import Field, Frame
from kadmin_nb.usage.backtesting import BacktestAnswer
from kadmin_nb.usage.touched_clients import ImpactAnswer

HERE = Path(__file__).resolve().parent
NOTE = "<!-- Made by docs/reference/generate.py (make reference). Do not edit. -->\n\n"
MODULES = (
    "charts",
    "clients",
    "declared",
    "fleets",
    "history",
    "local",
    "policy",
    "runbooks",
    "sql",
    "usage",
    "widgets",
)
RETURNED = {
    "Every answer": Tabular,
    "`Cluster.quotas`": Quotas,
    "`Cluster.configs`": Configs,
    "`Cluster.scram`": Scram,
    "`kn.diff`": Diff,
    "`kn.impact`": ImpactAnswer,
    "`kn.backtest`": BacktestAnswer,
}
"""Classes that are public because something public is or gives one."""

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

Everything that `import kadmin_nb as kn` offers. [frames.md](frames.md) has the columns of the frames in capitals.
"""


class Written(str):
    """A text that shows itself in a signature without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def pages() -> dict[Path, str]:
    """The text of each page."""
    schema = json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"
    return {HERE / "frames.md": _page(frames()), HERE / "frames.json": schema, HERE / "api.md": _page(api())}


def _page(parts: Iterator[str]) -> str:
    return NOTE + "\n".join(parts)


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
        "$defs": {
            name: {
                "description": frame.comment(),
                "type": "object",
                "properties": {field.name: _property(field) for field in frame.fields.values()},
                "required": frame.names,
            }
            for name, frame in schemas.FRAMES.items()
        },
    }


def _property(field: Field) -> dict[str, Any]:
    kind = _json_type(field.type)
    nullable = {**kind, "type": [kind["type"], "null"]} if field.null else kind
    return nullable | ({"description": field.comment} if field.comment else {})


def _json_type(kind: pa.DataType) -> dict[str, Any]:
    if pa.types.is_list(kind):
        return {"type": "array", "items": _json_type(kind.value_type)}
    if pa.types.is_struct(kind):
        return {"type": "object", "properties": {part.name: _json_type(part.type) for part in kind}}
    for test, name in (
        (pa.types.is_boolean, "boolean"), (pa.types.is_integer, "integer"), (pa.types.is_floating, "number")
    ):  # fmt: skip
        if test(kind):
            return {"type": name}
    return {"type": "string"}


def api() -> Iterator[str]:
    """The page of the public names."""
    yield API_INTRO
    yield from _names(kn, "kn", [name for name in kn.__all__ if name not in MODULES])
    for giver, kind in RETURNED.items():
        yield f"## {kind.__name__}\n\n{giver} is or gives one.\n"
        yield from _class(kind)
    for module in MODULES:
        yield from _module(module)


def _module(name: str) -> Iterator[str]:
    module = getattr(kn, name)
    yield f"# kn.{name}\n\n{_paragraphs(inspect.getdoc(module) or '')[0]}\n"
    yield from _names(module, f"kn.{name}", module.__all__)


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
    """A class: its text, its bases of ours, and its public members."""
    bases = [base.__name__ for base in kind.__bases__ if base.__module__.startswith("kadmin_nb")]
    yield _text(kind) + (f"\nA kind of `{'`, `'.join(bases)}`.\n" if bases else "")
    for name, member in vars(kind).items():
        if not name.startswith("_"):
            yield from _member(f"{kind.__name__}.{name}", member)


def _member(name: str, member: Any) -> Iterator[str]:
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
