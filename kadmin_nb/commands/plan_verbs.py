"""`plan`: plans that are files, and files of many lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import files
from ..errors import UsageError
from ..plans.apply_options import ApplyOptions
from . import options
from .change_options import again, applying, changing, every
from .click_glue import FILE, FRAME, Verbs
from .options import Finite
from .session import PlanOptions, Session, planned, usage_frame
from .state_verbs import plan_from

if TYPE_CHECKING:
    from ..plans.plan import Plan

_LARGEST = 1 << 26
"""Bytes of a file of lines: some 800,000 of them."""


@click.group(cls=Verbs, invoke_without_command=True)
@changing
@again
@every
@options.impact
@click.option(
    "--file",
    "-f",
    metavar="FILE",
    type=FILE,
    help="A file of changes, one per line, as in a %%kquota cell; - reads standard input.",
)
def plan(session: Session, file: str | Path | None, impact: Any, plan_options: PlanOptions) -> Any:
    """Make plans from a file of changes; show, apply, verify and roll back plans.

    \b
    {here} -f changes.txt --save p.json
    {here} show p.json
    {here} apply p.json
    {here} log 3f9a27
    {here} rollback 3f9a27 --apply
    {here} from cluster.yaml
    """
    if verb := click.get_current_context().invoked_subcommand:
        if file or impact is not None or plan_options.apply or plan_options.save:
            raise UsageError(f"these options belong to plan -f FILE, not to plan {verb}")
        return None
    if file is None:
        raise UsageError(
            "a file or a subcommand is required",
            hint="plan -f FILE, plan from FILE, or plan show|apply|verify|rollback|log PLAN",
        )
    from ..plans import change_lines  # with Arrow, which help does not need

    matches = session.matches(plan_options.every)
    edits = change_lines.edits(_change_lines_in(file), allow_unknown=plan_options.allow_unknown, matches=matches)
    stage = session.cluster.new_stage()
    stage.add(edits)
    return session.save_or_apply(planned(stage, plan_options), plan_options, impact)


plan.add_command(plan_from)

which_plan = click.argument("which", metavar="PLAN")
"""A saved plan's file, or the (beginning of the) id of one that was begun from here."""


@plan.command()
@options.reading
@options.printing
@which_plan
@options.impact
@click.option(
    "--usage",
    metavar="NAME",
    type=FRAME,
    help="USAGE, a variable or file: show which clients it would throttle, and for how long.",
)
@click.option("--rights", is_flag=True, help="Which rights applying it needs, and which of them you have.")
def show(session: Session, which: str, usage: Any, impact: Any, rights: bool) -> Any:
    """Show a plan.

    PLAN is its file or id. Only --usage, --impact and --rights connect to the cluster."""
    options.refuse_together({"--rights": rights, "--usage": usage is not None, "--impact": impact is not None})
    plan = load_plan(which)
    if rights:
        return session.cluster.permissions(plan)
    if impact is not None:
        return session.cluster.plans.bind(plan).impact(impact)
    return plan if usage is None else session.cluster.plans.stalls(plan, usage_frame(session, usage))


@plan.command()
@options.reading
@click.argument("file", metavar="FILE")
@click.option("--note", default="", metavar="TEXT", help="A comment, such as what you reviewed.")
def approve(session: Session, file: str, note: str) -> Any:
    """Approve another person's plan, in its file.

    apply --require-approval needs an approval.
    """
    from ..plans.plan import Plan

    approved = session.cluster.plans.approve(Plan.load(file), note)
    approved.save(file)
    return approved


@plan.command()
@applying
@which_plan
def apply(session: Session, which: str, apply_options: ApplyOptions) -> Any:
    """Apply a plan, and verify it on every broker.

    One that was started here is continued: applied rows are verified, the others are sent.
    """
    return session.save_or_apply(load_plan(which), PlanOptions(apply=True, apply_options=apply_options))


@plan.command()
@changing
@which_plan
def rollback(session: Session, which: str, plan_options: PlanOptions) -> Any:
    """Plan the undo of another plan.

    It restores the rows that the other plan has sent and that brokers show. --apply applies it.
    """
    return session.save_or_apply(session.cluster.rollback(load_plan(which)), plan_options)


@plan.command()
@options.reading
@click.argument("which", metavar="[PLAN]", required=False)
def log(session: Session, which: str | None) -> Any:
    """Show the journal of a plan, or list all plans.

    The hash chain of the journal is checked. Without PLAN, the plans that were started here are listed.
    """
    from ..frames.answer import Answer
    from ..plans.journal.store import journal_named, journals

    return Answer(journals().to_arrow() if which is None else journal_named(which).to_arrow())


@plan.command()
@options.reading
@which_plan
@click.option(
    "--wait",
    default=0.0,
    type=Finite(min=0, max=24 * 3600),
    metavar="SECONDS",
    help="Wait for brokers that are behind, until none has shown a further row for this long.",
)
def verify(session: Session, which: str, wait: float) -> Any:
    """Check that every broker has the values of a plan. Nothing is changed."""
    plan, progress = load_plan(which), session.progress
    return session.cluster.verify(plan, verify_timeout=wait, progress=progress)


def load_plan(plan_or_id: str) -> Plan:
    """The plan of this file, or of this id."""
    from ..plans.journal.store import plan_named

    return plan_named(plan_or_id)


def _change_lines_in(file: str | Path) -> str:
    what, missing = "a file of lines", f"{file} cannot be read: No such file or directory"
    if file == "-":
        return files.read_stdin(what, _LARGEST)
    return files.read_text(Path(file), what, _LARGEST, missing=missing)
