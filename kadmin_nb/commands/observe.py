"""`observe`: the request log of every broker on for a bounded time."""

from __future__ import annotations

import re
from typing import Any

import click

from . import options
from .click_glue import Verb
from .session import Session

_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h)?")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}


class Length(click.ParamType):  # type: ignore[type-arg]  # generic only in newer clicks
    """A length of time such as `60s` or `5m`, in seconds."""

    name = "length"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        match = _LENGTH.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"{value} is not a duration: 60s, 5m", param, ctx)
        return float(match[1]) * _SECONDS[match[2]]


@click.command(cls=Verb)
@options.reading
@click.option("--for", "seconds", default="60s", show_default=True, type=Length(), metavar="TIME", help="At most 1h.")
def observe(session: Session, seconds: float) -> Any:
    """Let every broker write its request log for a while, and then no more, whatever happens meanwhile.

    It sets kafka.request.logger to DEBUG through a plan and takes it back; Ctrl-C ends it early.

    \b
    {here} --for 60s
    """
    return session.cluster.observe(seconds, progress=session.progress)
