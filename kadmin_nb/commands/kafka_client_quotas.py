"""`kafka-client-quotas`: the command line that KIP-546 describes, on the quotas of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..errors import Invalid, UsageError
from ..kafka_commands import client_quotas
from ..kafka_commands.client_quotas import Words
from ..model.entity import TYPES, Entity
from ..model.grammar import ANY
from . import kafka_tool
from .click_glue import Verb
from .session import PlanOptions, Session, planned

if TYPE_CHECKING:
    from ..plans.plan import Plan


@click.command("kafka-client-quotas", cls=Verb)
@click.option("--describe", "--list", "describe", is_flag=True, help="Print the quotas of the entities that match.")
@click.option("--resolve", is_flag=True, help="Print the limits of one client, and the entity that sets each.")
@click.option("--alter", is_flag=True, help="Change the quotas of one entity.")
@click.option("--names", multiple=True, metavar="TYPE=NAME,…", help="Entities by type and name, such as user=alice.")
@click.option("--defaults", multiple=True, metavar="TYPE,…", help="Entity types whose default entity is meant.")
@click.option("--prefix", multiple=True, metavar="TYPE=TEXT,…", help="With --describe: the beginning of the names.")
@click.option("--show-overridden", is_flag=True, help="With --resolve: also the overridden limits, marked with a star.")
@click.option("--add", multiple=True, metavar="KEY=VALUE,…", help="With --alter: quotas to set.")
@click.option("--delete", multiple=True, metavar="KEY,…", help="With --alter: quotas to remove.")
@click.option("--validate-only", is_flag=True, help="With --alter: validate on the brokers, and change nothing.")
@kafka_tool.kafka_tool
def kafka_client_quotas(session: Session, output: str, plan_options: PlanOptions, **typed: Any) -> Any:
    """Describe, resolve and alter client quotas with the arguments and output of KIP-546; success prints nothing.

    \b
    {here} --bootstrap-server localhost:9092 --describe --names=client-id=my-client
    {here} --bootstrap-server localhost:9092 --resolve --names=user=alice,client-id=my-client
    {here} --bootstrap-server localhost:9092 --alter --names=user=alice --add=producer_byte_rate=5000000
    """
    words = Words(**typed)
    action = words.action()
    if action == "alter":
        return _altered(session, words, plan_options)
    return (_quotas_shown if action == "describe" else _resolved)(session, words, output)


def _quotas_shown(session: Session, words: Words, output: str) -> Any:
    prefixes = words.prefixes()
    answer = session.cluster.quotas.describe(entity={**words.parts(), **dict.fromkeys(prefixes, ANY)})
    rows = answer.to_arrow().to_pylist()
    rows = [row for row in rows if client_quotas.has_prefixes(Entity.parse(row["entity"]), prefixes)]
    if output == kafka_tool.TEXT:
        return kafka_tool.lines(client_quotas.quota_blocks(rows))
    from ..frames import schemas

    return kafka_tool.shown(schemas.table(schemas.QUOTAS, rows), output)


def _resolved(session: Session, words: Words, output: str) -> Any:
    parts = words.parts()
    if unknown := next((kind for kind in parts if kind not in TYPES), None):
        raise UsageError(f"{unknown} cannot be resolved: Kafka's rule takes {', '.join(TYPES)}")
    whom: dict[str, Any] = {kind.replace("-", "_"): name for kind, name in parts.items()}
    if not whom:
        raise UsageError("--resolve needs --names or --defaults")
    shows_overridden = words.show_overridden and "ip" not in parts
    table = session.cluster.quotas.resolve(**whom, overridden=shows_overridden).to_arrow()
    if output == kafka_tool.TEXT:
        limits = kafka_tool.lines(client_quotas.resolved_lines(table.to_pylist()))
        if limits is None:
            session.warn(f"nothing limits {client_quotas.in_braces(Entity.of(parts))}")
        return limits
    return kafka_tool.shown(table, output)


def _altered(session: Session, words: Words, plan_options: PlanOptions) -> Any:
    entity = Entity.of(words.parts())
    edits = client_quotas.typed_edits(words, entity)
    stage = session.cluster.new_stage()
    stage.add(edits)
    plan = planned(stage, plan_options)
    if words.validate_only:
        return _refuse_invalid(plan, entity)
    outcomes = kafka_tool.carry_out(session, plan, plan_options)
    return None if plan_options.apply else outcomes


def _refuse_invalid(plan: Plan, entity: Entity) -> None:
    """Nothing where the brokers take the change; else one line, with the entity and their words."""
    if refused := [c for c in plan.changes if c.is_refused or c.lacks_right]:
        first = refused[0]
        raise Invalid(f"{client_quotas.in_braces(entity)}: {first.key}: {first.refusal}")
