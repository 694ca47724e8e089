"""The parameters cell: annotated defaults, one a line, the comment behind each is its help."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ..errors import UsageError
from ..hints import did_you_mean
from . import secret_parameters
from .parameter_types import Kind

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
        secret_parameters.refuse_value(self.name, value)
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
    secret_parameters.refuse_name(name)
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
        secret_parameters.refuse_name(name)
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
