"""`plan`, `apply`, `discard` after `quota` and after `config`: one tray, the same three verbs."""

from __future__ import annotations

from typing import Any

import click

from . import options
from .apply_options import How, applying
from .click_glue import Verbs
from .session import Session, Wanted


def add_to(group: Verbs) -> None:
    """Give a group the three verbs of the tray."""
    for verb in (plan, apply, discard):
        group.add_command(verb)


@click.command(cls=Verbs.command_class)
@options.reading
@options.planning
@options.impact
@options.printing
def plan(
    session: Session,
    reason: str | None,
    save: str | None,
    allow_unknown: tuple[str, ...],
    force: bool,
    expires_in: float | None,
    impact: str | None,
) -> Any:
    """What is staged means this, before and after, and the broker's word on each row (notebook)."""
    clients = session.named(impact) if impact else None
    lifetime = options.hours(expires_in)
    made = session.plan(Wanted(reason=reason, save=save, force=force, allow_unknown=allow_unknown, lifetime=lifetime))
    return made if clients is None else session.cluster.impact(made, clients)


@click.command(cls=Verbs.command_class)
@options.reading
@applying
@click.argument("plan_id", required=False)
def apply(session: Session, plan_id: str | None, how: How) -> Any:
    """Apply the plan last shown, if nothing was staged since (notebook)."""
    return session.apply(plan_id, how)


@click.command(cls=Verbs.command_class)
@options.reading
def discard(session: Session) -> Any:
    """Empty the tray (notebook)."""
    return session.discard()
