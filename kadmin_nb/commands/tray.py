"""`plan`, `apply`, `discard` after `quota` and after `config`: one tray, the same three verbs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from ..plans.apply_options import ApplyOptions
from . import options
from .change_options import applying, planning
from .click_glue import Verbs
from .session import PlanOptions, Session
from .spark_inputs import usage_frame


def add_to(group: Verbs) -> None:
    """Give a group the three verbs of the tray."""
    for verb in (plan, apply, discard):
        group.add_command(verb)


@click.command(cls=Verbs.command_class)
@planning
@options.impact
@click.option("--review", is_flag=True, help="As a widget that applies it, row by row.")
def plan(session: Session, impact: str | None, review: bool, plan_options: PlanOptions) -> Any:
    """The plan of the staged changes: before, after, and the broker's answer for each row (notebook)."""
    clients = usage_frame(session, impact) if impact else None
    if review:
        return session.review(session.plan(plan_options), replace(plan_options.apply_options, usage=clients))
    return session.plan(plan_options, clients)


@click.command(cls=Verbs.command_class)
@applying
@click.argument("plan_id", required=False)
def apply(session: Session, plan_id: str | None, apply_options: ApplyOptions) -> Any:
    """Apply the plan last shown, if nothing was staged since (notebook)."""
    return session.apply(plan_id, apply_options)


@click.command(cls=Verbs.command_class)
@options.reading
def discard(session: Session) -> Any:
    """Empty the tray (notebook)."""
    return session.discard()
