"""The types of parameters, and how a value or a text becomes one."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .. import documents
from ..errors import UsageError

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
    raise _type_error(name, value, "bool", "It is true or false, nothing else.")


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
