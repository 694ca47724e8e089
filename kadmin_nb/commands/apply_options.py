"""How a plan is to be carried out: the options of every verb that does."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from ..errors import UsageError
from ..plans import VERIFY_TIMEOUT
from . import policy_option
from .options import allow
from .session import Session

Command = Callable[..., Any]


@dataclass(frozen=True)
class How:
    """What the options say; `usage` is the frame itself."""

    skip_conflicts: bool = False
    lock: bool = True
    steal: bool = False
    gradual: float | None = None
    usage: object = None
    verify_timeout: float = VERIFY_TIMEOUT
    require_approval: bool = False
    allow: tuple[str, ...] = ()

    @property
    def options(self) -> dict[str, Any]:
        """As `Cluster.apply` takes them."""
        return dict(self.__dict__)


def applying(command: Command) -> Command:
    """Give the command `how`: `--allow`, `--skip-conflicts`, `--gradual`, `--usage`, `--no-lock`, `--steal-lock` and
    the like."""

    @functools.wraps(command)
    def called(session: Session, /, skip_conflicts: bool, no_lock: bool, steal_lock: bool, gradual: float | None,
               usage: str | None, wait: float, require_approval: bool, allow: tuple[str, ...],
               **given: Any) -> Any:  # fmt: skip
        if gradual is not None and usage is None:
            raise UsageError("--gradual needs to know what clients use", hint="--usage NAME is a USAGE frame.")
        frame = session.named(usage) if usage else None
        how = How(skip_conflicts, not no_lock, steal_lock, gradual, frame, wait, require_approval, allow)
        return command(session, how=how, **given)

    decorated: Command = called
    for option in (allow, policy_option.policy, _approval, _wait, _usage, _gradual, _steal, _no_lock, _skip):
        decorated = option(decorated)
    return decorated


_skip = click.option("--skip-conflicts", is_flag=True, help="Leave rows alone that somebody has moved since the plan.")
_no_lock = click.option("--no-lock", is_flag=True, help="Do not take the cluster's lease.")
_steal = click.option("--steal-lock", is_flag=True, help="Take the lease from whoever holds it.")
_gradual = click.option(
    "--gradual",
    type=click.FloatRange(min=1),
    metavar="SECONDS",
    help="Lower quotas in steps, so that no client is muted for longer.",
)
_usage = click.option("--usage", metavar="NAME", help="What clients use: a variable, or a file in the terminal.")
_approval = click.option(
    "--require-approval", is_flag=True, help="Refuse a plan that nobody but its author has approved: plan approve."
)
_wait = click.option(
    "--wait",
    default=VERIFY_TIMEOUT,
    show_default=True,
    metavar="SECONDS",
    help="How long brokers may take to show it.",
)
