"""`policy check`: whether a cluster, a file or a plan keeps a team's rules; for CI too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from . import options
from .click_glue import FILE, FRAME, Verbs
from .session import Session, frame_in_arrow


@click.group(cls=Verbs)
def policy() -> None:
    """A team's rules for quotas and configs: Python functions in a file.

    The policy of a profile (policy = "policies.py") applies to every plan: one
    that breaks a rule is refused. --policy FILE adds another, on any verb that
    plans or applies.

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
        with session.at(found, {}):
            return checked(rules, session.cluster, pairs=clients)
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
