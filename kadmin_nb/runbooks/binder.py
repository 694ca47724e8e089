"""A runbook's parameters: the cell that declares them, their types, and `bind`, which reads them strictly.

The cell has annotated defaults, one a line, and the comment behind each is its help. papermill only warns of a
misspelt parameter, hands `-p apply false` over as a text that is true, and makes a number of a user called `007`.
Databricks hands everything over as text. So nothing after `bind` reads a raw value.
"""

from __future__ import annotations

import ast
import io
import json
import math
import sys
import tokenize
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, make_dataclass, replace
from itertools import chain, takewhile
from types import GenericAlias
from typing import Any

from .. import documents, paths
from ..errors import UsageError, printable
from ..hints import did_you_mean
from ..secrets import holds_secret, is_secret_name

_SCALARS: dict[str, Any] = {"bool": bool, "int": int, "float": float, "str": str}
_TYPES = {**_SCALARS, **{f"list[{name}]": GenericAlias(list, kind) for name, kind in _SCALARS.items()}}
_OR_NONE = " | None"
_WIDEST = 200

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
    items = value if isinstance(value, list | tuple) else [value]
    if any(holds_secret(str(item)) for item in items):
        raise UsageError(f"the value of {name} looks like a secret", hint=_SECRET_HINT)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One declared parameter: its default is bound by its own type, `kind`, as an annotation writes it."""

    name: str
    kind: str
    default: object
    help: str = ""

    @classmethod
    def of(cls, name: str, annotation: str, default: object, help: str = "") -> Parameter:
        """A parameter from what was declared; its type is one such as `list[str]` or `int | None`.

        Raises
        ------
        UsageError
            A type that no parameter has, a default that does not fit it, a name or default like a secret.
        """
        refuse_secret_name(name)
        kind = annotation.strip("'\" ")
        if kind.removesuffix(_OR_NONE) not in _TYPES:
            hint = "bool, int, float, str, list[…] of one, … | None."
            raise UsageError(f"unknown parameter type {annotation}", hint=hint)
        made = cls(name, kind, default, help)
        return replace(made, default=made.bind(default))

    def bind(self, value: object) -> object:
        """A given value, or the value that this text means, as the declared type, without truthiness or rounding.

        Raises
        ------
        UsageError
            Anything else; one that looks like a secret is refused unseen.
        """
        refuse_secret_value(self.name, value)
        kind = self.kind.removesuffix(_OR_NONE)
        if kind != self.kind and (value is None or value == ""):
            return None
        wanted, given = _TYPES[kind], value
        try:
            if kind.startswith("list[") and isinstance(value, str):
                given = documents.from_json(value)
            found = documents.as_type(given, wanted, strict=wanted is str or not isinstance(given, str))
            if not all(math.isfinite(one) for one in [found] if isinstance(one, float)):
                raise ValueError("it is not finite")
        except ValueError as exc:
            shown, hint = printable(repr(value))[:_WIDEST], None
            if kind == "str":
                hint = f"papermill's -p makes numbers, True, None and nan of words: -r {self.name} VALUE"
            elif kind.startswith("list["):
                hint = f'As text a list is JSON: {self.name}=["one", "two"]'
            raise UsageError(f"{self.name} is declared {kind} and got {shown}: {exc}", hint=hint) from None
        return found

    def __str__(self) -> str:
        return f"{self.name}: {self.kind} = {self.default!r}"


def parameters(cell: str) -> list[Parameter]:
    """The parameters of a parameters cell.

    Raises
    ------
    UsageError
        A line that is not an annotated literal, and what `Parameter.of` refuses.
    """
    tokens = tokenize.generate_tokens(io.StringIO(cell).readline)
    helps = {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}
    return [_declared(statement, helps.get(statement.end_lineno or 0, "")) for statement in _statements(cell)]


def is_declaring(cell: str) -> bool:
    """True if a cell holds nothing but assignments, annotated ones among them."""
    try:
        kinds = set(map(type, _statements(cell)))
    except SyntaxError:
        return False
    return ast.AnnAssign in kinds and kinds <= {ast.AnnAssign, ast.Assign}


def injected(cell: str) -> list[str]:
    """The names that a cell of plain `name = literal` lines sets; none when it is another sort of cell."""
    try:
        return [_assigned_name(statement) for statement in _statements(cell)]
    except (SyntaxError, ValueError):
        return []


def refuse_unknown(names: Iterable[str], declared: Collection[str]) -> None:
    """Refuse the first name that is not declared, with the nearest word, or that is called like a secret."""
    for name in names:
        refuse_secret_name(name)
        if name not in declared:
            hint = did_you_mean(name, declared, f"It takes {', '.join(declared) or 'none'}.")
            raise UsageError(f"unknown parameter {name}", hint=hint)


def _statements(cell: str) -> Sequence[ast.stmt]:
    """The statements of a cell but for bare texts."""
    try:
        body = ast.parse(cell).body
    except (RecursionError, MemoryError, ValueError):
        raise SyntaxError("nested too deeply, a null byte, or a number with too many digits") from None
    return [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]


def _declared(statement: ast.stmt, help: str) -> Parameter:
    with suppress(ValueError):
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                return Parameter.of(name, ast.unparse(statement.annotation), ast.literal_eval(value), help)
    raise UsageError(
        f"the parameters cell has a line that declares none: {ast.unparse(statement).splitlines()[0]}",
        hint="Each line is name: type = literal  # help; a later cell may compute from it.",
    )


def _assigned_name(statement: ast.stmt) -> str:
    """The name in `name = literal`, where papermill's `float('nan')` counts as a literal."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        raise ValueError
    target, calls = statement.targets[0], [n for n in ast.walk(statement.value) if isinstance(n, ast.Call)]
    if not isinstance(target, ast.Name) or any(ast.unparse(call.func) != "float" for call in calls):
        raise ValueError
    return target.id


def bind(namespace: MutableMapping[str, Any] | None = None, *, show: Callable[[str], object] = print) -> Any:
    """The runbook's parameters as a frozen record; the bound values are printed.

    The first code cell, tagged `parameters`, declares them: `apply: bool = False  # change the cluster`. Types are
    bool, int, float, str, lists of one, each perhaps `| None`. What papermill or a person puts into a cell right
    behind it overrides; on Databricks, the task's widgets do. The names in the notebook then hold the bound values
    as well.

    Parameters
    ----------
    namespace
        The notebook's `globals()`; default: the caller's.
    show
        The function that prints the bound values.

    Raises
    ------
    UsageError
        A name that is not declared, a value of another type, a name or value that looks like a secret.
    """
    space = sys._getframe(1).f_globals if namespace is None else namespace
    declared, injected_values = _cells(space)
    refuse_unknown(injected_values, [p.name for p in declared])
    raw = databricks_values(space["dbutils"], declared) if is_databricks_job(space) else space
    bound = {p.name: p.bind(raw.get(p.name, p.default)) for p in declared}
    space.update(bound)
    show("\n".join(f"{name} = {printable(repr(value))[:_WIDEST]}" for name, value in bound.items()))
    return make_dataclass("Parameters", [(name, Any) for name in bound], frozen=True)(**bound)


def _cells(space: MutableMapping[str, Any]) -> tuple[list[Parameter], list[str]]:
    """The declared parameters, and the names set by the cells right behind.

    IPython keeps the source of every executed cell in `In`.
    """
    history = [str(cell) for cell in space.get("In", ())]
    start = next((n for n in reversed(range(len(history))) if is_declaring(history[n])), None)
    if start is not None:
        behind = takewhile(bool, map(injected, history[start + 1 :]))
        return parameters(history[start]), [*chain.from_iterable(behind)]
    raise UsageError(
        "no cell above declares parameters",
        hint="The first code cell, tagged parameters, has lines such as: apply: bool = False  # change the cluster",
    )


def is_databricks_job(namespace: Mapping[str, Any]) -> bool:
    """True if this notebook runs on Databricks."""
    return paths.is_databricks() and "dbutils" in namespace


def databricks_values(dbutils: Any, declared: Iterable[Parameter]) -> dict[str, str]:
    """The text of each parameter's widget, made with the default where it does not exist yet.

    Raises
    ------
    UsageError
        The job passes a name that is not declared, where the runtime can tell (`widgets.getAll`).
    """
    declared = list(declared)
    for each in declared:
        dbutils.widgets.text(each.name, widget_text(each.default))
    if hasattr(dbutils.widgets, "getAll"):
        refuse_unknown(dbutils.widgets.getAll(), [p.name for p in declared])
    return {p.name: dbutils.widgets.get(p.name) for p in declared}


def widget_text(value: object) -> str:
    """A default as a widget's text; binding it gives the same value."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def hand_back_to_databricks(namespace: Mapping[str, Any], result: str, cluster_id: str | None = None) -> None:
    """End the notebook with this text for the job, on Databricks; elsewhere nothing. Later tasks of the job have the
    cluster's id as `{{tasks.NAME.values.cluster_id}}`."""
    if is_databricks_job(namespace):
        if cluster_id is not None:
            namespace["dbutils"].jobs.taskValues.set(key="cluster_id", value=cluster_id)
        namespace["dbutils"].notebook.exit(result)
