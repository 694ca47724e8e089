"""`policy`: whether a cluster, a snapshot, a plan or a history keeps the team's rules; for CI too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import NotFound, UsageError
from . import options
from .click_glue import FRAME, Verbs
from .session import Session, frame_in_arrow

if TYPE_CHECKING:
    from ..frames.snapshots import Snapshot
    from ..plans.plan import Plan
    from ..policy import Policy, PolicyAnswer

NOW = "now"


@click.group(cls=Verbs)
def policy() -> None:
    """A team's rules for quotas and configs, in a TOML file.

    The policies of the profile (policy = "FILE") and of $KADMIN_POLICY apply to every plan: one that breaks a rule is
    refused. --policy FILE adds another, on any verb that plans or applies.

    \b
    {here} check kadmin-nb.policy.toml --cluster prod
    {here} check --plan p.json --pairs clients.csv
    {here} check kadmin-nb.policy.toml --history lake/kafka --junit policy.xml
    """


_file = click.argument("file", metavar="[POLICY]", required=False)


@policy.command()
@options.reading
@_file
@click.option(
    "--snapshot", metavar="NAME", type=FRAME, help="Check a saved snapshot, or a variable, instead of the cluster."
)
@click.option("--plan", "which", metavar="PLAN", help="Check as if this plan (file or id) were applied.")
@click.option("--history", "where", metavar="WHERE", help="Check each cluster of the history at this place.")
@click.option(
    "--as-of", metavar="TIME", help="The time in that history, such as '2h ago'; default: its newest snapshot."
)
@click.option("--pairs", metavar="NAME", type=FRAME, help="The known clients: PAIRS or USAGE, a variable or a file.")
@click.option("--junit", metavar="FILE", help="Also write it as JUnit XML.")
@click.option("--sarif", metavar="FILE", help="Also write it as SARIF, for code scanning.")
@options.detailed("a rule is broken")
def check(
    session: Session, file: str | None, snapshot: Any, which: str | None, where: str | None, as_of: str | None,
    pairs: Any, junit: str | None, sarif: str | None,
) -> Any:  # fmt: skip
    """Check each rule of a policy.

    It is checked on the current cluster, a snapshot, a plan as if it were applied, or every cluster of a history.

    Exit 0: no refusing rule is broken. Exit 1: one is broken, or cannot be checked. With --detailed-exitcode, exit 3:
    rules are broken, and all could be checked.
    """
    _refuse_what_does_not_go_together(snapshot, which, where, as_of)
    from .plan import load_plan

    pair_frame = None if pairs is None else frame_in_arrow(session, pairs)
    plan = load_plan(which) if which else None
    if where is not None:
        answer = _of_history(session, _policy(file), where, as_of or NOW, pair_frame)
    elif snapshot is not None:
        answer = _of_snapshot(_policy(file), _snapshot(session, snapshot), plan, pair_frame)
    else:
        answer = session.cluster.check(file, plan, pairs=pair_frame)
    from ..policy.policy_answer import write_report, write_sarif

    for place, write in ((junit, write_report), (sarif, write_sarif)):
        if place:
            write(answer.findings, Path(place), file or "policy")
    return answer


@policy.command()
@_file
def show(file: str | None) -> Any:
    """List the rules of a policy; an unknown word in it is an error."""
    return _policy(file)


def _refuse_what_does_not_go_together(
    snapshot: str | None, which: str | None, where: str | None, as_of: str | None
) -> None:
    if where is not None and (snapshot or which):
        raise UsageError("--history cannot be combined", hint="Leave out --snapshot and --plan.")
    if as_of and where is None:
        raise UsageError("--as-of needs --history", hint="--history WHERE.")


def _policy(file: str | None) -> Policy:
    """The policy in this file, else in `$KADMIN_POLICY`: no cluster is asked, so no profile says one."""
    from ..policy import load

    path = file or os.environ.get("KADMIN_POLICY")
    if path is None:
        raise UsageError("a policy is required", hint="Name its file, or set $KADMIN_POLICY.")
    return load(path)


def _snapshot(session: Session, name: Any) -> Snapshot:
    """The snapshot of a file; in a notebook also of a variable."""
    from ..frames.snapshots import Snapshot

    if isinstance(name, Path) or (isinstance(name, str) and (session.variables is None or Path(name).exists())):
        return Snapshot.load(name)
    value = session.find_frame(name) if isinstance(name, str) else name
    if not isinstance(value, Snapshot):
        raise UsageError(f"{name} is a {type(value).__name__}, not a snapshot")
    return value


def _of_snapshot(policy: Policy, snapshot: Snapshot, plan: Plan | None, pairs: Any) -> PolicyAnswer:
    return policy.check(snapshot, pairs=pairs) if plan is None else policy.check(plan, on=snapshot, pairs=pairs)


def _of_history(session: Session, policy: Policy, where: str, time: str, pairs: Any) -> PolicyAnswer:
    from ..history import open_history
    from ..policy.policy_answer import together

    recorded = open_history(where)
    with session.at_work("reading the history"):
        answers = {snapshot.cluster_id: policy.check(snapshot, pairs=pairs) for snapshot in _each(recorded, time)}
    if not answers:
        raise NotFound(f"{where} has no snapshot of {time}")
    return together(answers)


def _each(recorded: Any, time: str) -> Iterator[Snapshot]:
    """The state of each cluster then; one that was not yet recorded is passed over."""
    for cluster_id in recorded.clusters:
        try:
            yield recorded.as_of(time, cluster_id)
        except NotFound:
            continue
