"""`runbook`: notebooks with parameters, run through papermill."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from .. import files
from ..errors import Invalid, KadminError, UsageError
from ..frames.blocks import Text
from ..state.reader import Node, compose
from . import completions, options
from .click_glue import Verbs, Words

_LARGEST_FILE = 1 << 22
"""Bytes of a file of parameters."""


@click.group(cls=Verbs)
def runbook() -> None:
    """Runbooks: notebooks with parameters.

    \b
    {here} run change_quotas -p cluster=prod -p 'changes=["set producer_byte_rate=5MB/s user=alice"]'
    """


_NAMES = Words(lambda before: completions.runbooks())


@runbook.command("list")
@click.argument("name", type=_NAMES, required=False)
def list_(name: str | None) -> Any:
    """List the runbooks, or the parameters of one.

    \b
    {here}
    {here} change_quotas
    """
    from .. import runbooks

    return runbooks.list() if name is None else Text(runbooks.show(name))


@runbook.command()
@click.argument("name")
@click.option("--folder", metavar="FOLDER", help="Write it to this folder; default: the working folder.")
def new(name: str, folder: str | None) -> Any:
    """Write a working runbook to start from.

    The file is NAME.ipynb; no file is overwritten.
    """
    from .. import runbooks

    place = runbooks.new(name, folder)
    return Text(f"{place}\nkadmin-nb runbook list {place.name} shows its parameters; runbook run {place.name} runs it")


@runbook.command()
@click.argument("name", type=_NAMES)
@click.option(
    "--parameter",
    "-p",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter, read as its declared type.",
)
@click.option("--parameters-file", "-f", "file", metavar="FILE", help="Parameters as YAML or JSON; -p overrides it.")
@click.option("--output", "-o", metavar="FILE", help="Where the executed notebook goes; of --each, a folder.")
@click.option("--each", metavar="GROUP", help="Run it on each cluster of this group; or of the run in this folder.")
@click.option("--canary", metavar="PROFILE", help="The cluster of the group that comes first.")
@click.option("--pause", type=options.Length(), metavar="DURATION", help="How long to wait after the canary: 10m.")
def run(
    name: str,
    parameters: tuple[str, ...],
    file: str | None,
    output: str | None,
    each: str | None,
    canary: str | None,
    pause: float | None,
) -> Any:
    """Run a runbook; the executed notebook is kept, even if it fails.

    With --each it runs on one cluster after the other, and stops at the first where it fails; the same line with
    --output FOLDER continues there.

    \b
    {here} change_quotas --each eu --canary eu-1 --pause 10m -p 'changes=["…"]' -p apply=true -o fair
    {here} rollback_plan --each fair -p apply=true
    """
    from .. import runbooks

    typed = [options.pair(text, "-p", "name=value") for text in parameters]
    names = [name for name, _ in typed]
    if twice := next((name for place, name in enumerate(names) if name in names[:place]), None):
        raise click.BadParameter(f"{twice} is given twice", param_hint="-p")
    given = {**(_parameters_in(Path(file)) if file else {}), **dict(typed)}
    if each is None:
        if canary or pause:
            raise UsageError("--canary and --pause belong to --each GROUP")
        return runbooks.run(name, given, output=output)
    tell = partial(click.echo, err=True)
    return runbooks.run_each(name, each, given, canary=canary, pause=pause or 0.0, output=output, tell=tell)


def _parameters_in(place: Path) -> dict[str, Any]:
    """The parameters of a file of YAML, which JSON is; a value is then read as its declared type, as one of `-p` is."""
    text = files.read_text(place, "a file of parameters", _LARGEST_FILE)
    try:
        values = _plain(compose(text))
    except KadminError as exc:
        raise exc.within(place) from None
    if not isinstance(values, dict):
        raise Invalid(f"{place} is not a mapping of parameters")
    return values


def _plain(node: Node | None) -> Any:
    if node is None or node.is_nothing:
        return None
    if isinstance(node.value, dict):
        return {name: _plain(value) for name, (_, value) in node.value.items()}
    return [_plain(item) for item in node.value] if isinstance(node.value, list) else node.value
