"""`plan`: plans that are files, and files of many lines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import Invalid, NotFound, UsageError
from . import lines, options
from .corners import Verbs
from .session import Session, Wanted

if TYPE_CHECKING:
    from ..plans.plan import Plan


@click.group(cls=Verbs, invoke_without_command=True)
@options.changing
@click.option("--file", "-f", metavar="FILE", help="Lines as a %%kquota cell holds them; - reads standard input.")
def plan(session: Session, file: str | None, wanted: Wanted) -> Any:
    """Plans that exist: made of the many lines of -f FILE, or saved before.

    \b
    {here} -f changes.txt --save p.json
    {here} show p.json
    {here} apply p.json
    """
    if (verb := click.get_current_context().invoked_subcommand) is not None:
        return _refuse_options_of_another_verb(verb, file, wanted)
    if file is None:
        raise UsageError("plan what?", hint="plan -f FILE, or plan show|apply|verify PLAN.json")
    edits = lines.edits(_text(file), session.lookup, allow_unknown=wanted.allow_unknown)
    stage = session.cluster.stage()
    stage.add(edits)
    return session.carry(stage.plan(wanted.reason, allow_unknown=wanted.allow_unknown), wanted)


@plan.command()
@options.reading
@click.argument("file")
def show(session: Session, file: str) -> Any:
    """Show a saved plan; no cluster is asked."""
    return _load(file)


@plan.command()
@options.reading
@click.argument("file")
def apply(session: Session, file: str) -> Any:
    """Apply a saved plan to its cluster and read every change back."""
    return session.carry(_load(file), Wanted(apply=True))


@plan.command()
@options.reading
@click.argument("file")
@click.option("--wait", default=0.0, metavar="SECONDS", help="How long brokers may take to show it.")
def verify(session: Session, file: str, wait: float) -> Any:
    """Ask every broker whether it holds what a saved plan wanted; nothing is sent."""
    return session.cluster.verify(_load(file), verify_timeout=wait)


def _refuse_options_of_another_verb(verb: str, file: str | None, wanted: Wanted) -> None:
    if file is not None or wanted != Wanted():
        raise UsageError(f"these options belong to plan -f FILE, not to plan {verb}")


def _load(file: str) -> Plan:
    from ..plans.plan import Plan

    return Plan.load(file)


def _text(file: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return raw.decode("utf-8-sig")
    except OSError as exc:
        raise NotFound(f"{file} cannot be read: {exc.strerror}") from None
    except UnicodeDecodeError:
        raise Invalid(f"{file} cannot be read: it is not UTF-8") from None
