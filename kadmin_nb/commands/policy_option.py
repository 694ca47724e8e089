"""`--policy`: on every verb that plans or applies. What is typed adds to the profile's policy and $KADMIN_POLICY."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

_META = "kadmin.policy"


def _kept(ctx: click.Context, option: click.Parameter, given: tuple[str, ...]) -> None:
    """Options before a sub-command hold for it too."""
    ctx.meta[_META] = (*ctx.meta.get(_META, ()), *given)


policy: Callable[..., Any] = click.option(
    "--policy",
    multiple=True,
    metavar="FILE",
    expose_value=False,
    callback=_kept,
    help="Refuse a plan that breaks a rule of this policy.",
)


def typed() -> tuple[str, ...]:
    """The policies that this command names."""
    ctx = click.get_current_context(silent=True)
    return ctx.meta.get(_META, ()) if ctx is not None else ()
