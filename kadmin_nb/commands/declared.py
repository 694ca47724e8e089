"""`export` and `plan from`: what a cluster is to hold, as a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import files
from ..errors import UsageError
from ..model.resources import WORDS
from . import options
from .change_options import again, changing
from .click_glue import FILE, CommaSeparated, Text, TextInPart, Verb
from .session import PlanOptions, Session

if TYPE_CHECKING:
    from ..state.snapshots import Snapshot


FORMATS = ("yaml", "json")
_KINDS_OPTION = CommaSeparated(lambda before: ("quotas", "configs", *WORDS, "client-configs"))
_FILES = {".yaml": "yaml", ".yml": "yaml", ".json": "json"}


def _leave_out(session: Session, out: str | None) -> None:
    """Leave an `--out` that does not name one of our files to the entry point: in a notebook it is a variable."""
    if out is None or Path(out).suffix in _FILES:
        return
    try:
        session.refuse_out(out)
    except UsageError as exc:
        raise UsageError(f"--out {out} is not a .yaml or .json file", hint=str(exc)) from None
    click.get_current_context().meta["out"] = out


@click.command(cls=Verb)
@options.connecting
@click.argument("source", metavar="[SOURCE]", required=False)
@click.option("--out", metavar="NAME", help="Write it to this .yaml or .json file; in a notebook also a variable.")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="Default: yaml, or json if --out names a .json file."
)
@click.option(
    "--kinds",
    multiple=True,
    type=_KINDS_OPTION,
    metavar="KIND[,KIND]",
    help="quotas, configs, topic, broker, client-configs, …",
)
@click.option("--cluster-id", metavar="ID", help="The cluster, if the history has several.")
@click.option("--allow-incomplete", is_flag=True, help="Write the rest even if something cannot be read.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of these files.")
def export(
    session: Session, source: str | None, out: str | None, form: str | None, kinds: tuple[str, ...],
    cluster_id: str | None, allow_incomplete: bool, schema: bool,
) -> Any:  # fmt: skip
    """Write all quotas, configs and client configs that are set, as YAML or JSON; `plan from` reads it.

    SOURCE is history:WHERE@TIME; default: the current cluster, of which only the KINDs are read. One
    that cannot be read is named, the others are written, and the exit code is 1.

    \b
    {here} > cluster.yaml
    {here} --out cluster.json --kinds quotas,topic
    {here} 'history:lake/kafka@2h ago'
    """
    from .. import state
    from ..state.snapshots import error_of

    _leave_out(session, out)
    if schema:
        return _written(Text(state.schema().rstrip()), out)
    form, chosen = _form(form, out), options.keys_of(kinds)
    snapshot = _snapshot_to_write(session, source, cluster_id, chosen)
    text = state.export(snapshot, format=form, kinds=chosen, allow_incomplete=allow_incomplete)
    if left_out := state.left_out(snapshot, chosen):
        session.warn(left_out)
    return _written(TextInPart.of(text, error_of(state.unread_of(snapshot, chosen))), out)


@click.command("from", cls=Verb)
@changing
@again
@click.argument("file", metavar="FILE", type=FILE)
@click.option("--prune", is_flag=True, help="Also remove what FILE does not mention, of the kinds that it has.")
@click.option("--any-cluster", is_flag=True, help="Accept a file of another cluster.")
def plan_from(
    session: Session, file: str | Path, prune: bool, any_cluster: bool, plan_options: PlanOptions,
) -> Any:  # fmt: skip
    """Plan what brings the cluster to the state in FILE.

    - reads standard input. What FILE does not mention stays, unless --prune is given: then the plan removes it, row by
    row.

    \b
    {here} cluster.yaml
    {here} cluster.yaml --prune --save p.json --reason "the fair"
    """
    from .. import state

    if file == "-":
        from ..state.reader import MAX_DECLARATION_BYTES, WHAT

        wished = state.read(files.read_stdin(WHAT, MAX_DECLARATION_BYTES), "standard input")
    else:
        wished = state.load(file)
    plan = session.cluster.plan_from(
        wished,
        prune=prune,
        any_cluster=any_cluster,
        allow_unknown=plan_options.allow_unknown,
        reason=plan_options.reason,
        lifetime=plan_options.lifetime,
        again=plan_options.again,
    )
    return session.save_or_apply(plan, replace(plan_options, apply=plan_options.apply and len(plan) > 0))


def _form(form: str | None, out: str | None) -> str:
    """The format: a file is read back by its name."""
    form_of_file = _FILES.get(Path(out or "").suffix)
    if form and form_of_file and form != form_of_file:
        raise UsageError(f"--format {form} and --out {out} do not fit", hint="The name of the file says its format.")
    return form or form_of_file or "yaml"


def _snapshot_to_write(
    session: Session, source: str | None, cluster_id: str | None, kinds: Sequence[str] | None
) -> Snapshot:
    """The snapshot to write: of the current cluster, or a history."""
    from ..state.sides import kept, named

    if source is None:
        return session.cluster.snapshot(kinds or ("quotas", "configs", "client-configs"))
    found = named(source)
    if found.what != "history":
        raise UsageError(f"{source} is not history:WHERE@TIME", hint="--cluster names another cluster.")
    with session.at_work("reading the past"):
        return kept(found, cluster_id).content


def _written(text: Text, out: str | None) -> Any:
    """The text; or nothing, when it goes into a file.

    Raises
    ------
    KadminError
        It is in the file, and lacks what could not be read.
    """
    if out is None or Path(out).suffix not in _FILES:
        return text
    files.write(Path(out), f"{text}\n")
    if isinstance(text, TextInPart):
        raise text.error
    return None
