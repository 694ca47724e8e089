"""The parameters cell: annotated defaults, one a line, the comment behind each is its help; and their types."""

from __future__ import annotations

import ast
import io
import json
import math
import re
import tokenize
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import documents
from ..errors import UsageError
from ..hints import did_you_mean
from ..secrets import holds_secret, is_secret_name

_RAW = "papermill's -p makes numbers, True, None and nan of words; -r hands them over as text: -r {name} VALUE"


@dataclass(frozen=True, slots=True)
class Kind:
    """A declared type: `bool`, `int`, `float` or `str`, a list of one, each perhaps with None."""

    scalar: str
    many: bool = False
    optional: bool = False

    @classmethod
    def of(cls, annotation: str) -> Kind:
        """The kind that an annotation writes, such as `list[str]` or `int | None`.

        Raises
        ------
        UsageError
            Any other type.
        """
        try:
            return _type_of(ast.parse(annotation, mode="eval").body)
        except (SyntaxError, _Unknown):
            raise UsageError(
                f"unknown parameter type {annotation}", hint="bool, int, float, str, list[…] of one, … | None."
            ) from None

    def bind(self, name: str, value: object) -> object:
        """`value`, or what this text stands for, as the declared type.

        Raises
        ------
        UsageError
            Anything else. There is no truthiness and no rounding.
        """
        if self.optional and (value is None or value == ""):
            return None
        return _list(name, value, self.scalar) if self.many else _SCALARS[self.scalar](name, value)

    def __str__(self) -> str:
        text = f"list[{self.scalar}]" if self.many else self.scalar
        return f"{text} | None" if self.optional else text


class _Unknown(Exception):
    """An annotation that is not a kind."""


def _type_of(node: ast.expr) -> Kind:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _type_of(ast.parse(node.value, mode="eval").body)
    if isinstance(node, ast.Name) and node.id in _SCALARS:
        return Kind(node.id)
    if isinstance(node, ast.Subscript):
        return _wrapped(_last_name(node.value), _type_of(node.slice))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _or_none(node.left, node.right)
    raise _Unknown


def _wrapped(name: str, inner: Kind) -> Kind:
    if name == "Optional":
        return replace(inner, optional=True)
    if name in ("list", "List") and inner == Kind(inner.scalar):
        return replace(inner, many=True)
    raise _Unknown


def _or_none(left: ast.expr, right: ast.expr) -> Kind:
    sides = [side for side in (left, right) if not (isinstance(side, ast.Constant) and side.value is None)]
    if len(sides) != 1:
        raise _Unknown
    return replace(_type_of(sides[0]), optional=True)


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _bool(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise _type_error(name, value, "bool", "It must be true or false.")


def _int(name: str, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]+", value):
        return int(value)
    raise _type_error(name, value, "int", "A whole number, written with digits alone.")


def _float(name: str, value: object) -> float:
    if isinstance(value, str) and re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", value):
        value = float(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise _type_error(name, value, "float", "A finite number.")


def _str(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    raise _type_error(name, value, "str", _RAW.format(name=name))


_SCALARS: dict[str, Callable[[str, object], Any]] = {"bool": _bool, "int": _int, "float": _float, "str": _str}


def _list(name: str, value: object, scalar: str) -> list[object]:
    items = _from_json(name, value, scalar) if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        raise _type_error(name, value, f"list[{scalar}]", _as_json(name, scalar))
    return [_SCALARS[scalar](f"{name}[{n}]", item) for n, item in enumerate(items)]


def _from_json(name: str, text: str, scalar: str) -> object:
    try:
        return documents.from_json(text)
    except ValueError:
        raise _type_error(name, text, f"list[{scalar}]", _as_json(name, scalar)) from None


def _as_json(name: str, scalar: str) -> str:
    example = json.dumps([{"str": "one", "int": 1, "float": 0.5, "bool": True}[scalar]])
    return f"As text a list is JSON: {name}={example}"


def _type_error(name: str, value: object, declared: str, hint: str) -> UsageError:
    return UsageError(f"{name} is declared {declared} and got {_in_words(value)}", hint=hint)


def _in_words(value: object) -> str:
    """A value as a sentence has it; a text in quotes, since "5" is not 5."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    return f'the text "{value}"' if isinstance(value, str) else f"the {_KINDS.get(type(value), 'value')} {value}"


_KINDS: dict[type, str] = {int: "number", float: "number", list: "list", tuple: "list", dict: "table"}


_SECRET_HINT = (
    "Parameters are written into the document in clear. Name a profile, or a .properties file; "
    "in it the secret is a reference such as env:NAME, file:PATH or databricks:SCOPE/KEY."
)


def refuse_secret_name(name: str) -> None:
    """Refuse a parameter that is called like a secret."""
    if is_secret_name(name):
        raise UsageError(f"{name} cannot be a parameter: its name says that it is a secret", hint=_SECRET_HINT)


def refuse_secret_value(name: str, value: object) -> None:
    """Refuse a value that looks like a secret. The message does not repeat it."""
    if isinstance(value, list | tuple | set):
        for item in value:
            refuse_secret_value(name, item)
    elif isinstance(value, dict):
        refuse_secret_value(name, [*value, *value.values()])
    elif isinstance(value, str) and holds_secret(value):
        raise UsageError(f"the value of {name} looks like a secret", hint=_SECRET_HINT)


BUILT_IN = ("PAPERMILL_INPUT_PATH", "PAPERMILL_OUTPUT_PATH")
"""The names that `papermill --inject-paths` adds by itself."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One declared parameter: its default is bound by its own type."""

    name: str
    kind: Kind
    default: object
    help: str = ""

    def bind(self, value: object) -> object:
        """A given value as the declared type; one that looks like a secret is refused unseen."""
        refuse_secret_value(self.name, value)
        return self.kind.bind(self.name, value)

    def __str__(self) -> str:
        return f"{self.name}: {self.kind} = {self.default!r}"


def parameter(name: str, annotation: str, default: object, help: str = "") -> Parameter:
    """A parameter from what was declared.

    Raises
    ------
    UsageError
        A type that no parameter has, a default that does not fit it, a name or default like a secret.
    """
    refuse_secret_name(name)
    made = Parameter(name, Kind.of(annotation), default, help)
    return Parameter(name, made.kind, made.bind(default), help)


def parameters(cell: str) -> list[Parameter]:
    """The parameters of a parameters cell.

    Raises
    ------
    UsageError
        A line that is not an annotated literal, and what `parameter` refuses.
    """
    helps = _comments(cell)
    return [_declared(statement, helps.get(statement.end_lineno or 0, "")) for statement in _statements(cell)]


def is_declaring(cell: str) -> bool:
    """True if a cell holds nothing but assignments, annotated ones among them."""
    try:
        statements = _statements(cell)
    except SyntaxError:
        return False
    return all(isinstance(s, ast.AnnAssign | ast.Assign) for s in statements) and any(
        isinstance(s, ast.AnnAssign) for s in statements
    )


def injected(cell: str) -> list[str] | None:
    """The names that a cell of plain `name = literal` lines sets; None when it is another sort of cell."""
    try:
        names = [_assigned_name(statement) for statement in _statements(cell)]
    except (SyntaxError, ValueError):
        return None
    return names or None


def refuse_unknown(names: Iterable[str], declared: Collection[str]) -> None:
    """Refuse the first name that is not declared, with the nearest word, or that is called like a secret."""
    for name in names:
        refuse_secret_name(name)
        if name in declared or name in BUILT_IN:
            continue
        raise UsageError(
            f"unknown parameter {name}",
            hint=did_you_mean(name, declared, f"It takes {', '.join(declared) or 'none'}."),
        )


def _statements(cell: str) -> Sequence[ast.stmt]:
    """The statements of a cell but for bare texts."""
    try:
        body = ast.parse(cell).body
    except (RecursionError, MemoryError, ValueError):
        raise SyntaxError("nested too deeply, a null byte, or a number with too many digits") from None
    return [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]


def _declared(statement: ast.stmt, help: str) -> Parameter:
    if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
        raise UsageError(
            f"the parameters cell has a line that declares none: {ast.unparse(statement).splitlines()[0]}",
            hint="Each line is name: type = default  # help",
        )
    name = statement.target.id
    return parameter(name, ast.unparse(statement.annotation), _literal(name, statement.value), help)


def _literal(name: str, value: ast.expr | None) -> object:
    if value is None:
        raise UsageError(f"{name} has no default", hint="Declare one; a later cell may refuse it.")
    try:
        return ast.literal_eval(value)
    except ValueError:
        raise UsageError(
            f"the default of {name} is not a literal", hint="Declare a literal, and compute from it in a later cell."
        ) from None


def _assigned_name(statement: ast.stmt) -> str:
    """The name in `name = literal`, where papermill's `float('nan')` counts as a literal."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        raise ValueError
    target, calls = statement.targets[0], [n for n in ast.walk(statement.value) if isinstance(n, ast.Call)]
    if not isinstance(target, ast.Name) or any(ast.unparse(call.func) != "float" for call in calls):
        raise ValueError
    return target.id


def _comments(cell: str) -> dict[int, str]:
    """The comment at the end of each line."""
    tokens = tokenize.generate_tokens(io.StringIO(cell).readline)
    return {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}
