"""A stage or a plan in the form that `--print` asks for."""

from __future__ import annotations

from typing import Any

from ..errors import UsageError

PRINT_FORMATS = ("cell", "python", "kafka-configs", "markdown")


def in_print_format(value: Any, form: str) -> Any:
    """The value as that text.

    Raises
    ------
    UsageError
        It is neither a stage nor a plan.
    """
    from ..plans.formats import PrintFormats

    if not isinstance(value, PrintFormats):
        raise UsageError(f"--print {form} works with stages and plans only")
    return getattr(value, f"to_{form.replace('-', '_')}")()
