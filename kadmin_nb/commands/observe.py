"""`observe`: the request log of every broker on for a bounded time."""

from __future__ import annotations

from typing import Any

import click

from . import options
from .click_glue import Verb
from .lengths import Length
from .session import Session


@click.command(cls=Verb)
@options.reading
@click.option("--for", "seconds", default="60s", show_default=True, type=Length(), metavar="TIME", help="At most 1h.")
def observe(session: Session, seconds: float) -> Any:
    """Let every broker write its request log for a while, and then no more, whatever happens meanwhile.

    It sets kafka.request.logger to DEBUG through a plan and takes it back; Ctrl-C ends it early.

    \b
    {here} --for 60s
    """
    answer = session.cluster.observe(seconds, progress=session.progress)
    if click.get_current_context().meta.get("out") and session.note is not None:
        for line in (*answer.warnings, *(f"request log: {log}" for log in answer.logs)):
            session.note(line)
    return answer
