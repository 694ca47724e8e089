"""`kafka-configs`: the arguments and the lines of Kafka's own kafka-configs.sh, with a plan and its journal behind."""

from __future__ import annotations

import socket
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import KadminError, Unsupported, UsageError, printable
from ..model.changes import Edit
from ..model.entity import Entity
from ..model.grammar import ANY, DEFAULT
from ..model.resources import CONFIG_TYPES
from ..model.scram import ScramUser
from ..secrets import is_secret_name
from . import kafka_configs_words as configs_lines
from . import kafka_tool
from .click_glue import Verb
from .kafka_configs_words import (
    CHANGING,
    FLAGS,
    FROM_FILE,
    WITH_DEFAULT,
    NamedType,
    Wishes,
    are_credentials,
    client_names,
    config_edits_of,
    entities,
    quota_entity,
    resource,
    scram_edits_of,
    user_edits_of,
    wishes,
    without_registrations,
)
from .options import Command
from .session import PlanOptions, Session

if TYPE_CHECKING:
    from ..cluster import Cluster
    from ..plans.plan import Plan


def _flag_options(command: Command) -> Command:
    """A flag for each type of entity, and one for each type that has a default."""
    for flag, entity_type in reversed(FLAGS.items()):
        is_default = flag.endswith("_defaults")
        described = f"Short for --entity-type {entity_type} --entity-{'default' if is_default else 'name NAME'}."
        how: dict[str, Any] = {"is_flag": True} if is_default else {"multiple": True, "metavar": "NAME"}
        command = click.option(f"--{flag.replace('_', '-')}", flag, help=described, **how)(command)
    return command


@click.command("kafka-configs", cls=Verb)
@click.option("--describe", is_flag=True, help="Print the configs of the entity.")
@click.option("--alter", is_flag=True, help="Change the configs of the entity.")
@click.option("--all", is_flag=True, help="With --describe: also values that are not set on the entity itself.")
@click.option("--entity-type", "entity_types", multiple=True, metavar="TYPE", help="topics, users, clients, …")
@click.option(
    "--entity-name", "entity_names", multiple=True, metavar="NAME", help="The name of the entity of that type."
)
@click.option(
    "--entity-default",
    "entity_names",
    multiple=True,
    is_flag=True,
    flag_value="",
    help="The default entity, instead of a name.",
)
@_flag_options
@click.option(
    "--add-config", multiple=True, metavar="K=V,K=[V,V]", help="Set configs; put a value with commas in brackets."
)
@click.option(
    "--add-config-file",
    multiple=True,
    metavar="FILE",
    help="Set the configs in a properties file; the plan stores references to its secrets.",
)
@click.option("--delete-config", multiple=True, metavar="K,K", help="Remove configs.")
@click.option("--output", type=click.Choice(["text", "table"]), help="Kafka's own lines, or KIP-248's table.")
@kafka_tool.kafka_tool
def kafka_configs(session: Session, output: str | None, plan_options: PlanOptions, **params: Any) -> Any:
    """kafka-configs.sh of Kafka 4.4: its arguments and output, with changes that are planned, journalled and verified.

    \b
    {here} --bootstrap-server localhost:9092 --describe --topic orders
    {here} --bootstrap-server localhost:9092 --alter --user alice --add-config producer_byte_rate=5000000
    {here} --bootstrap-server localhost:9092 --alter --topic orders --delete-config retention.ms --dry-run
    """
    is_table = output == "table"
    typed = {option: texts for option in CHANGING if (texts := params[option.replace("-", "_")])}
    chosen = entities(params, typed)
    _refuse_addresses(chosen)
    if params["describe"]:
        return _entities_shown(session.cluster, chosen, is_table, is_all=params["all"])
    requested = wishes(typed, _configs_in(typed.get(FROM_FILE, ())))
    others = without_registrations(requested)
    if len(others) < len(requested) and chosen[-1][0] in ("users", "clients"):
        return _registrations_removed(session, others, chosen, is_table, plan_options)
    return _carried_out(session, requested, chosen, is_table, plan_options)


def _refuse_addresses(chosen: Sequence[NamedType]) -> None:
    """Kafka's own tool resolves the name of an ip, and ends where it cannot."""
    ips = (names for entity_type, names in chosen if entity_type == "ips")
    for name in filter(None, chain.from_iterable(ips)):
        try:
            socket.getaddrinfo(name, None)
        except OSError:
            said = f"The entity name for ips must be a valid IP or resolvable host, but it is: {name}"
            raise UsageError(said) from None


def _carried_out(
    session: Session, requested: Wishes, chosen: Sequence[NamedType], is_table: bool, plan_options: PlanOptions
) -> Any:
    from ..plans.plan import dangers_of

    edits = _edits(chosen, requested, plan_options.allow_unknown)
    every = (replace(edit, again=True) for edit in edits)  # as Kafka's own tool, which compares nothing
    plan = session.plan_of(every, plan_options)
    kafka_tool.refuse_absent(plan)
    if dangers_of(plan):
        judged = session.cluster.plans.guard(plan)
        if judged is None or not judged.dangers(plan):  # a danger by a rule of a policy is confirmed here, too
            plan, plan_options = _let_through(session, plan, plan_options)
    outcomes = kafka_tool.carry_out(session, plan, plan_options)
    if not plan_options.apply:
        return outcomes
    if is_table:
        return _entities_shown(session.cluster, chosen, is_table, is_all=True)
    return kafka_tool.lines(configs_lines.completed(chosen))


_UNCONFIRMED = "kafka-configs, which asks for no confirmation"
"""The reason of a dangerous plan that was typed without one."""


def _let_through(session: Session, plan: Plan, plan_options: PlanOptions) -> tuple[Plan, PlanOptions]:
    """The plan and the options that apply its dangers, each of which is a line on standard error, as of Kafka's own."""
    from ..plans.plan import dangers_of, unconfirmed

    for danger in dangers_of(plan) if plan_options.apply else ():
        session.warn(printable(f"danger: {danger.line}"))
    typed = plan_options.apply_options
    allow = tuple(dict.fromkeys((*typed.allow, *(danger.allowed_by for danger in dangers_of(plan)))))
    return unconfirmed(plan, _UNCONFIRMED), replace(plan_options, apply_options=replace(typed, allow=allow))


def _registrations_removed(
    session: Session, requested: Wishes, chosen: Sequence[NamedType], is_table: bool, plan_options: PlanOptions
) -> Any:
    """The answer to the other changes, after which the registrations of users' clients are removed (KIP-649).

    Those of clients that are alive come back.
    """
    others = _carried_out(session, requested, chosen, is_table, plan_options) if requested else None
    if not plan_options.apply:
        return others or kafka_tool.lines(["Nothing was changed; without --dry-run, registrations are removed."])
    session.cluster.client_configs.forget(*client_names(Entity.of(quota_entity(chosen))))
    return others or kafka_tool.lines(configs_lines.completed(chosen))


def _configs_in(files: Sequence[str]) -> dict[str, str]:
    """The configs in properties files; those that are called as secrets are, as references to them."""
    from ..profiles.java_properties import read_properties

    return {
        key: f"properties:{Path(file).absolute()}#{key}" if is_secret_name(key) else value
        for file in files
        for key, value in read_properties(Path(file)).items()
    }


def _edits(chosen: Sequence[NamedType], requested: Wishes, allow_unknown: Collection[str]) -> list[Edit]:
    (entity_type, (name,)), *others = chosen
    if are_credentials(requested):
        if entity_type != "users" or others or not name:
            raise UsageError("SCRAM credentials belong to users", hint="For example --user alice.")
        return scram_edits_of(ScramUser.of(name), requested)
    if entity_type in CONFIG_TYPES:
        return config_edits_of(resource(entity_type, name), requested)
    return user_edits_of(Entity.of(quota_entity(chosen)), requested, allow_unknown)


def _entities_shown(cluster: Cluster, chosen: Sequence[NamedType], is_table: bool, *, is_all: bool) -> Any:
    entity_type, names = chosen[0]
    if entity_type in CONFIG_TYPES:
        return _described_configs(cluster, entity_type, names, is_table, is_all=is_all)
    return _described_quotas(cluster, chosen, is_table)


def _described_configs(
    cluster: Cluster, entity_type: str, names: Sequence[str], is_table: bool, *, is_all: bool
) -> Any:
    there, absent = _present_and_absent(cluster, entity_type, names, is_all=is_all)
    as_text = partial(configs_lines.config_lines, is_all=is_all)
    lines_of = configs_lines.organised_configs if is_table else as_text
    found = _configs_of(cluster, entity_type, there, is_all=is_all)
    texts = chain.from_iterable(lines_of(entity_type, name, rows) for name, rows in found.items())
    return kafka_tool.lines([*(configs_lines.missing(entity_type, name) for name in absent), *texts])


def _present_and_absent(
    cluster: Cluster, entity_type: str, names: Sequence[str], *, is_all: bool
) -> tuple[Sequence[str], Sequence[str]]:
    """The names of what is there, and of what is not; with `--all` whatever is named counts as there.

    An older broker that cannot list a type is asked for those that are named; without a name that is a note.
    """
    if names and (is_all or set(names) == {""}):
        return names, ()
    try:
        listed = cluster.configs.names(CONFIG_TYPES[entity_type])
    except Unsupported as exc:
        if not names:
            warnings.warn(f"{entity_type} cannot be listed: {exc.in_one_line()}", stacklevel=2)
        return names, ()
    existing = dict.fromkeys([*listed, *([""] if entity_type in WITH_DEFAULT else [])])
    chosen = names or [*existing]
    return [name for name in chosen if name in existing], [name for name in chosen if name not in existing]


def _configs_of(
    cluster: Cluster, entity_type: str, names: Sequence[str], *, is_all: bool
) -> dict[str, list[configs_lines.Row]]:
    """The configs of each resource, sorted; without `is_all` those that are set on it.

    Raises
    ------
    KadminError
        A resource that could not be read.
    """
    if not names:
        return {}
    word = CONFIG_TYPES[entity_type]
    parts = [resource(entity_type, name) for name in names]
    resources: dict[str, Any] = {word.replace("-", "_"): [part.name or DEFAULT for part in parts]}
    answer = cluster.configs.describe(**resources)
    rows = answer.raise_for_errors().to_arrow().to_pylist()
    by_name = {name: [row for row in rows if row["resource_name"] == name] for name in names}
    if is_all:
        return by_name
    return {part.name: configs_lines.own_rows(entity_type, part, by_name[part.name]) for part in parts}


def _described_quotas(cluster: Cluster, chosen: Sequence[NamedType], is_table: bool) -> Any:
    """The quotas of entities of exactly these types; of users their dynamic configs, and alone their credentials."""
    table = cluster.quotas.describe(entity=quota_entity(chosen), strict=True).to_arrow()
    lines = configs_lines.organised_quotas if is_table else configs_lines.quota_lines
    credentials = configs_lines.scram_lines(_credentials(cluster, chosen))
    return kafka_tool.lines([*lines(table.to_pylist()), *_client_lines(cluster, chosen), *credentials])


BESIDE_QUOTAS = 10.0
"""Seconds for a topic of client configs: what else is set on a user is shown without it."""


def _client_lines(cluster: Cluster, chosen: Sequence[NamedType]) -> Iterator[str]:
    """The dynamic configs of entities of exactly these types, and the keys that their clients support (KIP-649).

    Where they cannot be read, one line says so: the quotas of users depend on no topic, which anybody may have made.
    """
    from ..client_configs.verbs import supported_keys

    named = {entity_type: [*names] or ANY for entity_type, names in chosen}
    user, client_id = named.get("users"), named.get("clients")
    if user is None or any("" in names for _, names in chosen):
        return
    try:
        described = cluster.client_configs.describe(user=user, client_id=client_id, strict=True, timeout=BESIDE_QUOTAS)
        yield from configs_lines.client_config_lines(described.to_arrow().to_pylist())
        supported: dict[str, dict[tuple[str, str], list[str]]] = {}
        those = supported_keys(cluster.port, user, client_id, BESIDE_QUOTAS) if client_id else {}
        for (entity, version), keys in those.items():
            supported.setdefault(str(entity), {})[version] = keys
        yield from configs_lines.supported_lines(supported)
    except KadminError as exc:
        yield f"Dynamic configs cannot be described: {exc}"


def _credentials(cluster: Cluster, chosen: Sequence[NamedType]) -> list[configs_lines.Row]:
    """The credentials of the chosen users; the tool passes over them for the default user, and beside client-ids."""
    (entity_type, names), *others = chosen
    if entity_type != "users" or others or "" in names:
        return []
    described = cluster.scram.describe(user=list(names)) if names else cluster.scram.describe()
    return list(described.to_arrow().to_pylist())
