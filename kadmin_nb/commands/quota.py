"""`quota`: describe, resolve, why, tree, audit, set, remove, chart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import ConnectionFailed, TimedOut, UsageError
from ..frames.blocks import NOTEBOOK, Page
from ..frames.display import Display
from ..model.changes import Edit
from ..model.entity import ARGUMENTS, TYPES, entity_type
from ..plans import change_words
from . import completions, options
from .click_glue import FRAME, Verbs, words
from .options import Length, changing, every, planning, read_selectors
from .session import (
    FRAME_FILES,
    PlanOptions,
    Session,
    frame_in_arrow,
    frame_or_file,
    read_frame,
    spark_for,
    usage_frame,
)
from .state_verbs import history_at
from .usage import near, top, usage

if TYPE_CHECKING:
    from ..frames.blocks import Block

TO_READ = "[TYPE=NAME]..."
FINDINGS = ("shadowed", "redundant", "unlimited", "client-ids")
"""The words of `--only`; a test compares them with those of `cluster.audits`, which loads Arrow."""


@click.group(cls=Verbs)
def quota() -> None:
    """Client quotas: list them, find the one that limits a client, change them.

    \b
    {here} describe user=alice
    {here} resolve user=alice client-id=app
    {here} set producer_byte_rate=5MB/s user=alice client-id=<default>
    """


@quota.command()
@options.reading
@words(completions.entities, TO_READ)
@options.types(*TYPES)
@options.keys(completions.quota_keys)
@click.option("--strict", is_flag=True, help="Only entities with exactly the named parts.")
def describe(
    session: Session,
    words: tuple[str, ...],
    keys: tuple[str, ...],
    strict: bool,
) -> Any:
    """List the quotas as they are stored.

    All of them, or those of user=…, client-id=… or ip=…; also user~=team-*.
    """
    whom: dict[str, Any] = read_selectors(words, TYPES, entity_type)
    if later_types := {kind: whom.pop(kind) for kind in [*whom] if kind not in ARGUMENTS}:  # than this version
        whom["entity"] = later_types
    answer = session.cluster.quotas.describe(**whom, keys=options.keys_of(keys), strict=strict)
    if not len(answer):
        answer.hint = session.cluster.quotas.near_miss(**whom)
    return answer


@quota.command()
@options.reading
@words(completions.entities, TO_READ)
@options.keys(completions.quota_keys)
@click.option(
    "--pairs",
    metavar="NAME",
    type=FRAME,
    help="A frame with user and client_id: a variable, or a Parquet or CSV file.",
)
@options.engine("The engine for the pairs; default: by their number.")
@click.option("--overridden", is_flag=True, help="Also the overridden quotas, most specific first.")
@options.assume_default
def resolve(
    session: Session,
    words: tuple[str, ...],
    keys: tuple[str, ...],
    pairs: Any,
    engine: str | None,
    overridden: bool,
    assume_default: bool,
) -> Any:
    """Show which quota limits a client, key by key.

    Each with its level, value and bucket, and the quotas that it overrides.
    """
    whom = read_selectors(words, TYPES)
    more: dict[str, Any] = {"keys": options.keys_of(keys), "overridden": overridden, "assume_default": assume_default}
    if pairs is None:
        return session.cluster.quotas.resolve(**whom, engine=engine, **more)
    clients = frame_or_file(session, pairs)
    if whom:
        raise UsageError(
            f"{next(iter(whom)).replace('_', '-')}=… and --pairs both name clients", hint="Use one of them."
        )
    with spark_for(engine):
        return session.cluster.quotas.resolve(pairs=clients, engine=engine, **more)


@quota.command()
@options.reading
@words(completions.entities, "user=NAME [client-id=NAME]")
@options.keys(completions.quota_keys)
@click.option("--usage", metavar="NAME", type=FRAME, help="A USAGE frame: a variable, or a Parquet or CSV file.")
@click.option("--for", "seconds", type=Length(), metavar="TIME", help="Observe the brokers for this long first.")
@click.option("--stage", "number", type=int, metavar="N", help="Stage number N of the changes that would lift it.")
@click.option("--all", "is_whole", is_flag=True, help="Also the other ways to raise a limit, and the other brakes.")
def why(
    session: Session,
    words: tuple[str, ...],
    keys: tuple[str, ...],
    usage: Any,
    seconds: float | None,
    number: int | None,
    is_whole: bool,
) -> Any:
    """Show what slows a client, its limits, and how to lift them.

    It begins with what holds the client, and shows which quotas apply at which level, who shares them, and the line
    that raises the limit.

    \b
    {here} user=alice client-id=app
    {here} user=alice client-id=app --for 20s
    {here} user=alice client-id=app --usage usage.parquet
    {here} user=alice client-id=app --stage 1
    """
    options.refuse_together({"--for": seconds is not None, "--usage": usage is not None})
    used = usage_frame(session, usage)
    if seconds is not None:
        try:
            used = session.cluster.observe(seconds, to_read=True, progress=session.progress).requests()
        except (ConnectionFailed, TimedOut) as error:  # the limits are worth showing
            session.warn(f"WARNING: nothing was observed: {error}")
    answer = session.cluster.quotas.why(
        **{"user": None, **read_selectors(words, TYPES)},
        keys=options.keys_of(keys),
        usage=used,
    )
    answer = answer.whole() if is_whole else answer
    return answer if number is None else session.change([answer.edit(number)], PlanOptions())


@quota.command()
@options.reading
def tree(session: Session) -> Any:
    """Show the hierarchy as a tree, with the shadowed quotas."""
    return session.cluster.quotas.tree()


@quota.command()
@planning
@options.keys(completions.quota_keys)
@click.option("--clients", metavar="NAME", type=FRAME, help="The known clients: a frame of PAIRS or USAGE.")
@click.option("--only", multiple=True, type=click.Choice(FINDINGS), help="Only these findings.")
@click.option("--stage", is_flag=True, help="Stage the removals that are safe; in the terminal: plan them.")
@options.assume_default
def audit(
    session: Session,
    keys: tuple[str, ...],
    clients: Any,
    only: tuple[str, ...],
    stage: bool,
    assume_default: bool,
    plan_options: PlanOptions,
) -> Any:
    """Find quotas without effect, and clients without one.

    With --clients also client-ids that look generated, by pattern.

    \b
    {here} --only redundant --stage
    {here} --only unlimited --clients clients.csv --keys producer_byte_rate
    """
    known = frame_in_arrow(session, clients)
    found = session.cluster.quotas.audit(known, keys=options.keys_of(keys), assume_default=assume_default).only(*only)
    edits = found.edits() if stage or plan_options.apply or plan_options.save else []
    return session.change(edits, plan_options) if edits else found


@quota.command("set")
@changing
@every
@words(completions.quota_words, "KEY=VALUE... TYPE=NAME...")
@options.types(*TYPES)
def set_(session: Session, words: tuple[str, ...], plan_options: PlanOptions) -> Any:
    """Set quotas of a user, a client-id, both, or an ip.

    Values have units, such as 5MB/s and 50%.

    \b
    {here} producer_byte_rate=5MB/s user=alice client-id=app
    """
    return session.change(_edits("set", words, session, plan_options), plan_options)


@quota.command()
@changing
@every
@words(partial(completions.quota_words, sign=""), "KEY... TYPE=NAME...")
@options.types(*TYPES)
def remove(session: Session, words: tuple[str, ...], plan_options: PlanOptions) -> Any:
    """Remove quotas of a user, a client-id, both, or an ip."""
    return session.change(_edits("remove", words, session, plan_options), plan_options)


def _edits(verb: str, words: Sequence[str], session: Session, plan_options: PlanOptions) -> list[Edit]:
    return session.matches(plan_options.every).edits(
        words, lambda line: change_words.quota_edits(verb, line, plan_options.allow_unknown)
    )


CHARTS = ("effective", "hierarchy", "history", "plan", "usage")
ENDINGS = (".svg", ".png")
"""The files that a chart can be written to."""


class ChartAnswer(Display):
    """A chart as the value of a command: in a notebook's cell it is the chart, in a terminal its finding."""

    def __init__(self, chart: Any, place: str | None) -> None:
        self.chart, self.place = chart, place

    def _title(self) -> str:
        from ..charts.showing import headline

        return headline(self.chart)

    def _footer(self, page: Page = NOTEBOOK) -> Iterable[Block]:
        yield f"written to {self.place}" if self.place else "--out chart.svg writes it; also .png"

    def _in_cell(self) -> Any:
        return self.chart


@quota.command()
@options.connecting
@click.argument("name", metavar="NAME", type=click.Choice(CHARTS))
@click.argument("source", metavar="[SOURCE]", type=FRAME, required=False)
@click.option("--history", metavar="WHERE", help="Of usage: the limits as they were in this history.")
@click.option("--out", "place", metavar="FILE", help=f"Write it to FILE: {', '.join(ENDINGS)}.")
def chart(session: Session, name: str, source: Any, history: str | None, place: str | None) -> ChartAnswer:
    """Draw one of five charts.

    They are hierarchy (of the cluster), plan (default: of what is staged), effective (of clients), usage (of USAGE or
    BACKTEST) and history. SOURCE is a frame, a variable or a Parquet or CSV file; of plan its file or id, of history
    its place.

    \b
    {here} hierarchy --out quotas.svg
    {here} effective clients.parquet
    {here} usage used.parquet
    {here} plan p.json
    {here} history lake/kafka
    """
    from .. import charts
    from ..charts import showing

    if place is not None and not place.endswith(ENDINGS):
        raise UsageError(f"--out {place} does not end in {', '.join(ENDINGS)}")
    rows = _charted(session, name, source)
    limits: list[Any] = []
    if name == "usage" and "throttled_share" not in _columns(rows):  # BACKTEST has its limits
        limits = [session.cluster.quotas.describe() if history is None else history_at(history)]
    drawn = getattr(charts, name)(rows, *limits)
    if place is not None:
        showing.write(drawn, Path(place))
    return ChartAnswer(drawn, place)


def _columns(frame: Any) -> list[str]:
    """The names of the columns of a frame of any kind."""
    return [*getattr(frame, "column_names", frame.columns)]


def _charted(session: Session, name: str, source: Any) -> Any:
    """What the chart of that name shows, out of the cluster, a plan, a history or a frame."""
    if source is None and name == "hierarchy":
        return session.cluster.quotas.describe()
    if source is None and name == "plan":
        return session.plan(PlanOptions())
    if source is None:
        raise UsageError(f"a SOURCE of the chart {name} is required", hint=f"chart {name} SOURCE; --help has examples.")
    is_frame = not isinstance(source, str) or source.endswith(FRAME_FILES)
    if name == "plan" and not is_frame:
        from ..plans.journal.store import plan_named

        return plan_named(source)
    if name == "history" and not is_frame:
        from ..state import open_history

        return open_history(source).changes((None, None))
    if name == "effective":
        clients = frame_in_arrow(session, source)
        return clients if "level" in _columns(clients) else session.cluster.quotas.resolve(pairs=clients)
    return read_frame(session, source)


for more in (near, top, usage):
    quota.add_command(more)
