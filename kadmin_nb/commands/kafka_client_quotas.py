"""`kafka-client-quotas`: the command line that KIP-546 describes: its words and its lines. Kafka never shipped it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from ..documents import trimmed
from ..errors import Invalid, UsageError
from ..model.changes import DELETE, SET, Edit
from ..model.entity import TYPES, Entity
from ..model.grammar import ANY, DEFAULT, Special
from ..model.levels import DEFAULT_IP, LEVELS, Part
from ..model.quota_keys import parse_value, text_of
from . import kafka_tool
from .click_glue import Verb
from .session import PlanOptions, Session

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
def kafka_client_quotas(session: Session, plan_options: PlanOptions, **typed: Any) -> Any:
    """Describe, resolve and alter client quotas with the arguments and output of KIP-546; success prints nothing.

    \b
    {here} --bootstrap-server localhost:9092 --describe --names=client-id=my-client
    {here} --bootstrap-server localhost:9092 --resolve --names=user=alice,client-id=my-client
    {here} --bootstrap-server localhost:9092 --alter --names=user=alice --add=producer_byte_rate=5000000
    """
    action = asked_action(typed)
    if action == "alter":
        return _altered(session, typed, plan_options)
    return (_quotas_shown if action == "describe" else _resolved)(session, typed)


def _quotas_shown(session: Session, typed: Typed) -> Any:
    prefixes, parts = _named_parts(typed["prefix"], "--prefix"), parts_of(typed)
    _refuse_twice(parts, prefixes)
    answer = session.cluster.quotas.describe(entity={**parts, **dict.fromkeys(prefixes, ANY)})
    rows = answer.to_arrow().to_pylist()
    rows = [row for row in rows if has_prefixes(Entity.parse(row["entity"]), prefixes)]
    return kafka_tool.lines(quota_blocks(rows))


def _resolved(session: Session, typed: Typed) -> Any:
    parts = parts_of(typed)
    if unknown := next((kind for kind in parts if kind not in TYPES), None):
        raise UsageError(f"{unknown} cannot be resolved: Kafka's rule takes {', '.join(TYPES)}")
    whom: dict[str, Any] = {kind.replace("-", "_"): name for kind, name in parts.items()}
    if not whom:
        raise UsageError("--resolve needs --names or --defaults")
    shows_overridden = typed["show_overridden"] and "ip" not in parts
    table = session.cluster.quotas.resolve(**whom, overridden=shows_overridden).to_arrow()
    limits = kafka_tool.lines(resolved_lines(table.to_pylist()))
    if limits is None:
        session.warn(f"nothing limits {in_braces(Entity.of(parts))}")
    return limits


def _altered(session: Session, typed: Typed, plan_options: PlanOptions) -> Any:
    entity = Entity.of(parts_of(typed))
    plan = session.plan_of(typed_edits(typed, entity), plan_options)
    if typed["validate_only"]:
        return _refuse_invalid(plan, entity)
    outcomes = kafka_tool.carry_out(session, plan, plan_options)
    return None if plan_options.apply else outcomes


def _refuse_invalid(plan: Plan, entity: Entity) -> None:
    """Nothing where the brokers take the change; else one line, with the entity and their words."""
    if refused := [c for c in plan.changes if c.is_refused or c.lacks_right]:
        first = refused[0]
        raise Invalid(f"{in_braces(entity)}: {first.key}: {first.refusal}")


# --- without IO: the words, and the lines ---

Typed = Mapping[str, Any]
"""The options of one call, by the names of their parameters."""

OPTIONS_OF = {"describe": ["prefix"], "resolve": ["show_overridden"], "alter": ["add", "delete", "validate_only"]}
"""The actions, and the options that belong to one of them alone."""


def asked_action(typed: Typed) -> str:
    """The one action that is asked for.

    Raises
    ------
    UsageError
        None, or several; an option of another.
    """
    asked = [action for action in OPTIONS_OF if typed[action]]
    if len(asked) != 1:
        raise UsageError("exactly one action is needed: --describe, --resolve or --alter")
    others = {option: action for action, own in OPTIONS_OF.items() if action != asked[0] for option in own}
    if wrong := next((option for option in others if typed[option]), None):
        what = f"--{wrong.replace('_', '-')} belongs to --{others[wrong]}"
        raise UsageError(f"{what}, and --{asked[0]} is asked for")
    return asked[0]


def parts_of(typed: Typed) -> dict[str, Part]:
    """The entity types that are named, each with its name or DEFAULT."""
    named, defaults = _named_parts(typed["names"]), _comma_separated(typed["defaults"])
    _refuse_twice(named, defaults)
    return {**named, **dict.fromkeys(defaults, DEFAULT)}


def _refuse_twice(named: Mapping[str, Part], further: Iterable[str]) -> None:
    if repeated := next((kind for kind in further if kind in named), None):
        raise UsageError(f"{repeated} is named twice")


def _comma_separated(texts: Iterable[str]) -> list[str]:
    return [word for text in texts for word in map(trimmed, text.split(",")) if word]


def _named_parts(texts: Iterable[str], option: str = "--names") -> dict[str, str]:
    """`user=CN=a,O=b,client-id=x`: a comma splits only before a type that is known, or was used before it."""
    parts: dict[str, str] = {}
    for text in texts:
        for word in _split(text, parts):
            kind, sign, name = word.partition("=")
            if not sign or not kind or not name:
                raise UsageError(f"{option} takes type=name, not {word}")
            _refuse_twice(parts, [kind])
            parts[kind] = name
    return parts


def _split(text: str, used: Iterable[str]) -> list[str]:
    types = "|".join(map(re.escape, {*TYPES, *used, text.partition("=")[0]} - {""}))
    return re.split(f",(?=(?:{types})=)", text)


def typed_edits(typed: Typed, entity: Entity) -> list[Edit]:
    """The edits of `--add` and `--delete`.

    Raises
    ------
    UsageError
        None, a key in both or twice, a value that is not a number.
    """
    pairs = [_pair(word) for word in _comma_separated(typed["add"])]
    removals = _comma_separated(typed["delete"])
    keys = [key for key, _ in pairs] + removals
    if not keys:
        raise UsageError("--alter needs --add or --delete")
    if repeated := next((key for place, key in enumerate(keys) if key in keys[:place]), None):
        raise UsageError(f"{repeated} is changed twice in one call")
    set_edits = [Edit(SET, entity, key, text_of(parse_value(key, value))) for key, value in pairs]
    return [*set_edits, *(Edit(DELETE, entity, key) for key in removals)]


def _pair(word: str) -> tuple[str, str]:
    key, sign, value = word.partition("=")
    if not sign or not key:
        raise UsageError(f"--add takes name=value, not {key}")
    return key, value


def in_braces(entity: Entity) -> str:
    """`{user=alice, client-id=<default>}`, names as Kafka's Sanitizer writes them, so that none looks like another."""
    words = ((kind, name.value if isinstance(name, Special) else quote(name, safe="")) for kind, name in entity.parts)
    return "{" + ", ".join(f"{kind}={word.replace('~', '%7E')}" for kind, word in words) + "}"


def quota_blocks(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The quotas of each entity below its name, defaults last, a blank line between."""
    blocks = [(Entity.parse(text), [*mine]) for text, mine in groupby(rows, itemgetter("entity"))]
    blocks.sort(key=lambda block: [(name is DEFAULT, str(name)) for _, name in block[0].parts])
    for number, (entity, mine) in enumerate(blocks):
        yield from [""] * bool(number)
        yield in_braces(entity)
        yield from (f"{row['key']}={text_of(row['value'])}" for row in mine)


def has_prefixes(entity: Entity, prefixes: Mapping[str, str]) -> bool:
    """True if each of these types has a name that begins so; the default has none."""
    names = {kind: entity.get(kind) for kind in prefixes}
    return all(isinstance(name, str) and name.startswith(prefixes[kind]) for kind, name in names.items())


def resolved_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Each limit with the entity that sets it; below it the overridden ones, each with a star."""
    for row in sorted((row for row in rows if row["level"] is not None), key=itemgetter("key")):
        yield f"{row['key']}={text_of(row['value'])} {in_braces(_source(row, row['level']))}"
        for entry in row.get("overridden") or ():
            yield f"*{row['key']}={text_of(entry['value'])} {in_braces(_source(row, entry['level']))}"


def _source(row: Mapping[str, Any], level: str) -> Entity:
    """The entity of a level, for the client of this row."""
    if "ip" in row:
        return Entity.of({"ip": DEFAULT if level == DEFAULT_IP else row["ip"]})
    place = next(one for one in LEVELS if one.name == level)
    kinds = {"user": (place.user, row["user"]), "client-id": (place.client_id, row["client_id"])}
    return Entity.of({kind: name if of == "name" else DEFAULT for kind, (of, name) in kinds.items() if of})
