"""`plan` and `policy`: plans that are files, files of many lines, and a team's rules, for CI too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import files
from ..errors import UsageError
from ..plans.apply_options import ApplyOptions
from . import options
from .click_glue import FILE, FRAME, Verbs
from .options import Finite, again, applying, changing, every
from .session import PlanOptions, Session, frame_in_arrow, usage_frame
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
    return session.save_or_apply(session.plan_of(edits, plan_options), plan_options, impact)


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


@click.group(cls=Verbs)
def policy() -> None:
    """A team's rules for quotas and configs: Python functions in a file.

    The policy of a profile (policy = "policies.py") applies to every plan: one
    that breaks a rule is refused.

    \b
    {here} check policies.py prod
    {here} check policies.py plan.json
    """


@policy.command()
@options.reading
@click.argument("file", metavar="POLICIES", type=FILE)
@click.argument("target", metavar="[CLUSTER|FILE|PLAN]", required=False, type=FRAME)
@click.option("--pairs", metavar="NAME", type=FRAME, help="The known clients: PAIRS or USAGE, a variable or a file.")
@options.detailed("a rule is broken")
def check(session: Session, file: Path, target: Any, pairs: Any) -> Any:
    """Check each rule of a policy.

    It is checked on a cluster, by default the current one, on what a file
    (.yaml) declares, on history:WHERE@TIME, or on a plan (file or id) as if it
    were applied to the cluster.

    Exit 0: no rule is broken. Exit 1: one is broken, or cannot be checked. With
    --detailed-exitcode, exit 3: rules are broken, and all could be checked.
    """
    from ..cluster.policies import check as checked
    from ..plans.plan import Plan
    from ..policy import rules_of

    rules = rules_of(file)
    clients = frame_in_arrow(session, pairs)
    found = _target(session, target)
    if isinstance(found, str):
        with session.at(found, {}) as there:
            return checked(rules, there.cluster, pairs=clients)
    return checked(rules, found, on=session.cluster if isinstance(found, Plan) else None, pairs=clients)


def _target(session: Session, name: Any) -> Any:
    """The snapshot or plan of that name, the current cluster where there is none, or the name of another cluster."""
    from ..plans.journal.store import is_id, plan_named
    from ..plans.plan import Plan
    from ..profiles import profile_names
    from ..state.sides import kept, named

    if name is None:
        return session.cluster
    if not isinstance(name, str | Path):
        return name
    text = str(name)
    if Path(text).suffix == ".json" and Path(text).exists():
        return Plan.load(text)
    if (source := named(text)).what != "cluster":
        return kept(source, None).content
    return plan_named(text) if text not in profile_names() and is_id(text) else text
