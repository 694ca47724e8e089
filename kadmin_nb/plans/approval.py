"""Approvals: a note beside a plan in which somebody else than its author agrees to it.

Who agrees is whom the broker logged in, or whom the platform names, and never what somebody typed. It is a check, not
a lock: whoever can write the file can write a note into it.
"""

from __future__ import annotations

import getpass
import os
import platform
from collections.abc import Mapping

from ..errors import PlanRefused, printable
from ..hints import Hint, Verb, sentence, short_id
from .plan import Plan, with_note

APPROVAL = "approval"
APPROVE = Verb("plan approve FILE", "cluster.plans.approve(plan)")


def approved(plan: Plan, author: str, at: str, text: str = "") -> Plan:
    """The plan with this author's approval beside it.

    Raises
    ------
    PlanRefused
        They cannot approve it (`APPROVAL`).
    """
    if why := _why_not(plan, author):
        raise _approval_refused(f"you cannot approve plan {short_id(plan.id)}: {why}")
    return with_note(plan, text, author=author, at=at, kind=APPROVAL)


def approval_of(plan: Plan, wanted_by: str = "") -> Mapping[str, str]:
    """The first approval that counts; who wants one is said where that is not the caller.

    Raises
    ------
    PlanRefused
        None does (`APPROVAL`), and why.
    """
    approvals = [note for note in plan.notes if note.get("kind") == APPROVAL]
    reasons = [_why_not(plan, note.get("author", "")) for note in approvals]
    if "" in reasons:
        return approvals[reasons.index("")]
    why = reasons[0] if reasons else "no one has approved it"
    wanted = f"; {wanted_by} carries out approved plans only" if wanted_by else ""
    raise _approval_refused(f"plan {short_id(plan.id)} is not approved: {why}{wanted}")


def _why_not(plan: Plan, author: str) -> str:
    """The reason why this author's approval does not count; empty when it does."""
    plan_author, ours = named_by_others(plan.head.author), named_by_others(author)
    if plan_author is None:
        return f"its author {plan.head.author or 'unknown'} is not a verified login"
    if ours is None:
        return f"{author or 'the approver'} is not a verified login"
    if _source(plan_author) != _source(ours):
        return f"{ours} and its author, {plan_author}, are confirmed by different systems, and may be one person"
    return f"{ours} is its author" if plan_author == ours else ""


def _source(name: str) -> str:
    return name.partition(":")[0]


def _approval_refused(text: str) -> PlanRefused:
    return PlanRefused(
        printable(text),
        code="APPROVAL",
        hint=Hint(
            "Nothing was sent.",
            sentence("Another person, logged in on the cluster as themselves, runs {}.", APPROVE),
        ),
    )


BROKER, PLATFORM = "User:", "databricks:"
"""The prefix of names that another system vouches for."""


def author(named: str | None = None) -> str:
    """`User:alice (login@host)`, or `login@host` where no broker or platform named the user.

    A login without a name is its number.
    """
    try:
        login = getpass.getuser()
    except (ImportError, KeyError, OSError):
        login = f"uid {os.getuid()}" if hasattr(os, "getuid") else "unknown user"
    here = f"{login}@{platform.node() or 'localhost'}"
    return f"{named} ({here})" if named else here


def named_by_others(author: str) -> str | None:
    """The part of an author that the platform or the broker gave."""
    return author.rpartition(" (")[0] or author if author.startswith((BROKER, PLATFORM)) else None
