"""`runbook`: notebooks with parameters, run through papermill."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from .. import documents, files
from ..errors import Invalid
from . import completions, options
from .click_glue import Text, Verbs, Words

_LARGEST_FILE = 1 << 26
"""Bytes of a file of parameters."""


@click.group(cls=Verbs)
def runbook() -> None:
    """Runbooks: notebooks with parameters.

    \b
    {here} run change_quotas -p cluster=prod -p 'changes=["set producer_byte_rate=5MB/s user=alice"]'
    """


@runbook.command("list")
def list_() -> Any:
    """List the runbooks that come with kadmin_nb."""
    from .. import runbooks

    return runbooks.list()


_NAME = click.argument("name", type=Words(lambda before: completions.runbooks()))


class Parameter(Words):
    """`NAME=VALUE` of a runbook; completion offers the names of its parameters."""

    def __init__(self) -> None:
        super().__init__(lambda before: ())

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        name = ctx.params.get("name") or next(iter(ctx.args), "")  # a line that ends in -p is not parsed whole
        offers = completions.parameters(name)
        return [CompletionItem(offer) for offer in offers if offer.startswith(incomplete)]


@runbook.command()
@_NAME
def show(name: str) -> Any:
    """Show the purpose of a runbook, and its parameters; of the record of a run, what came of it."""
    from .. import runbooks

    return Text(runbooks.show(name))


@runbook.command()
@click.argument("name")
@click.option("--folder", metavar="FOLDER", help="Write it to this folder; default: the working folder.")
def new(name: str, folder: str | None) -> Any:
    """Write a working runbook to start from.

    The file is NAME.ipynb; no file is overwritten.
    """
    from .. import runbooks

    place = runbooks.new(name, folder)
    return Text(f"{place}\nkadmin-nb runbook show {place.name} shows its parameters; runbook run {place.name} runs it")


@runbook.command()
@_NAME
@click.option(
    "--parameter",
    "-p",
    "parameters",
    multiple=True,
    type=Parameter(),
    metavar="NAME=VALUE",
    help="A parameter, read as its declared type.",
)
@click.option("--parameters-file", "-f", "file", metavar="FILE", help="Parameters as a JSON object; -p overrides it.")
@click.option("--output", "-o", metavar="FILE", help="Where the executed notebook goes.")
def run(name: str, parameters: tuple[str, ...], file: str | None, output: str | None) -> Any:
    """Run a runbook; the executed notebook is kept, even if it fails."""
    from .. import runbooks

    typed = _once(options.pair(text, "-p", "name=value") for text in parameters)
    return runbooks.run(name, {**(_parameters_in(Path(file)) if file else {}), **typed}, output=output)


def _parameters_in(place: Path) -> dict[str, Any]:
    """The parameters of a file."""
    text = files.read_text(place, "a file of parameters", _LARGEST_FILE)
    try:
        values = documents.from_json(text)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise Invalid(f"{place} is not a JSON object of parameters")
    return values


def _once(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, value in pairs:
        if name in values:
            raise click.BadParameter(f"{name} is given twice", param_hint="-p")
        values[name] = value
    return values
