"""What a cell means, in words, before anything is planned: two lines below the grid, and all of it where one asks why.

What applies, whose bucket it is, dangers and warnings are judged by the functions that plans use, on what is stored
with all that is staged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import NotKnowable, printable, printable_lines
from ..frames import schemas
from ..frames.blocks import Block, Title
from ..hints import magic
from ..model.changes import SET, Change
from ..model.entity import ARGUMENTS, Entity
from ..model.grammar import DEFAULT, quote
from ..model.levels import LEVELS, LEVELS_BY_NAME, SHARED, Level
from ..model.quota_keys import IP_KEYS, readable
from ..plans.advice import dangers, same_stores
from ..plans.kinds import QUOTAS
from ..plans.observed_state import ObservedState, table_after
from ..resolution.rules import Effective, Name, entity_at, reaches, resolve_client, resolve_ip, stored_of
from .config_cells import ConfigCell
from .quota_sheet import HEADS, QuotaCell
from .staged_sheet import Refused, ShownState

APPLIES, BUCKET, OVERRIDES, CLOSER = "applies", "bucket", "overrides", "closer"
WARNING, DANGER, REFUSED = "warning", "danger", "refused"


class Remark(NamedTuple):
    """A line of the preview, and what it is about."""

    about: str
    text: str


def preview(entity: Entity, key: str, quotas: pa.Table, changes: Sequence[Change], brokers: int = 1) -> list[Remark]:
    """The remarks on one cell, most important first.

    Parameters
    ----------
    quotas
        All QUOTAS as they are stored.
    changes
        The rows of a plan that all staged edits of quotas would be.
    """
    stored = quotas.filter(pc.equal(quotas["key"].cast(pa.string()), key))
    of_key = sorted((c for c in changes if c.key == key), key=lambda change: change.resource != entity)
    staged = [change.with_(row=number) for number, change in enumerate(of_key, 1)]  # advice is about the first row
    after = table_after(stored, staged) if staged else stored
    is_edited = bool(staged) and staged[0].resource == entity
    advice = _advice(staged, stored, brokers) if is_edited else ()
    return [*advice, *_effect(entity, key, after)]


def _advice(changes: Sequence[Change], stored: pa.Table, brokers: int) -> Iterator[Remark]:
    """The dangers and warnings of the first change, as the plan of all of them will have them."""
    state = ObservedState(quotas=stored, brokers=brokers)
    if changes[0].is_refused:
        yield Remark(REFUSED, str(changes[0].refusal))
    for danger in dangers.judged(changes, state):
        if danger.row == 1:
            yield Remark(DANGER, danger.message)
    for warned in QUOTAS.warnings([change for change in changes if not change.is_refused], state):
        if warned.row in (0, 1):
            yield Remark(WARNING, warned.message)


# -- what applies


def _effect(entity: Entity, key: str, quotas: pa.Table) -> Iterator[Remark]:
    level = LEVELS_BY_NAME.get(entity.level)
    if level is not None:
        yield from _client_effect(entity, level, key, quotas)
    elif key in IP_KEYS and entity.get("ip") is not None:
        yield from _address_effect(entity, key, quotas)


def _client_effect(entity: Entity, level: Level, key: str, quotas: pa.Table) -> Iterator[Remark]:
    user, client_id = _client_of(entity)
    names = [str(entity_at(other, user or "", client_id or "")) for other in LEVELS if reaches(other, user, client_id)]
    rows = quotas.filter(pc.is_in(quotas["entity"], pa.array(names, pa.string())))
    effective = resolve_client(stored_of(rows.to_pylist()), user, client_id, key)
    yield Remark(APPLIES, f"{_whom(entity)}: {_limit(effective, entity)}")
    if effective.level is not None:
        yield Remark(BUCKET, SHARED[effective.level])
    if effective.overridden:
        yield Remark(OVERRIDES, ", ".join(f"{o.entity} ({readable(key, o.value)})" for o in effective.overridden))
    yield from _closer(entity, level, quotas)


def _client_of(entity: Entity) -> tuple[Name, Name]:
    """A client that this entity is about: of a default, each whose name no quota has."""
    user, client_id = entity.get("user"), entity.get("client-id")
    client = "" if client_id is None else client_id if isinstance(client_id, str) else None
    return user if isinstance(user, str) else None, client


def _whom(entity: Entity) -> str:
    """The clients that the entity is about, in words."""
    user, client_id = entity.get("user"), entity.get("client-id")
    users = f"user {quote(user)}" if isinstance(user, str) else "users without a quota of their own"
    if client_id is None:
        return f"{users}, without a client-id"
    clients = (
        f"client-id {quote(client_id)}" if isinstance(client_id, str) else "client-ids without a quota of their own"
    )
    return f"{users}, {clients}"


def _limit(effective: Effective, entity: Entity) -> str:
    if effective.value is None:
        return "unlimited"
    limit = readable(effective.key, effective.value)
    return limit if effective.entity == entity else f"{limit}, of {effective.entity}"


def _closer(entity: Entity, level: Level, quotas: pa.Table) -> Iterator[Remark]:
    """The quotas that come first for some of the clients that this entity is about."""
    levels = pa.array([other.name for other in LEVELS[: level.number]], pa.string())
    rows = quotas.filter(pc.is_in(quotas["level"].cast(pa.string()), levels))
    for column, kind in ARGUMENTS.items():
        if isinstance(name := entity.get(kind), str):
            rows = rows.filter(pc.fill_null(pc.equal(rows[column], name), True))
    if rows.num_rows:
        more = f", and {rows.num_rows - 1:,} more" if rows.num_rows > 1 else ""
        yield Remark(CLOSER, f"{rows['entity'][0]} wins for its clients{more}")


def _address_effect(entity: Entity, key: str, quotas: pa.Table) -> Iterator[Remark]:
    ip = entity.get("ip")
    if ip is DEFAULT:
        values = quotas.filter(pc.equal(quotas["entity"], str(entity)))["value"].to_pylist()
        limit = readable(key, values[0]) if values else "unlimited"
        yield Remark(APPLIES, f"each address without a quota of its own: {limit}")
        return
    of_addresses = quotas.filter(pc.is_in(quotas["level"].cast(pa.string()), pa.array(["IP", "DEFAULT_IP"])))
    try:
        yield Remark(APPLIES, str(resolve_ip(stored_of(of_addresses.to_pylist()), str(ip), key)))
    except NotKnowable as exc:
        yield Remark(WARNING, str(exc))


# -- two lines


def quota_lines(cell: QuotaCell, remarks: Sequence[Remark]) -> tuple[str, str]:
    """A cell of quotas in two lines: what it says and what applies, then what is most important of its remarks."""
    head = f"{cell.entity}, {HEADS.get(cell.key, cell.key)}: "
    was = f", was {cell.old}" if cell.old and cell.state is not None else ""
    applies = cell.applies
    applied = applies.text(cell.key) + (f" ({applies.entity})" if applies.entity is not None else "")
    if isinstance(cell.state, Refused):
        return f"{head}{cell.text} is not staged{was}", cell.state.reason
    if not cell.text:
        first = f"{head}not set{was}; {applied} applies"
    elif cell.first is not None:
        first = f"{head}{cell.text}{was}; {applied} comes first for its clients that send a client-id"
    else:
        first = f"{head}{cell.text}{was}"
    advice = [text for about, text in remarks if about in (REFUSED, DANGER, WARNING)]
    shared = [f"overrides {text}" if about == OVERRIDES else text for about, text in remarks if about != APPLIES]
    return first, "; ".join(advice or shared) or next((text for _, text in remarks), "No rule is known for it.")


def config_lines(cell: ConfigCell, state: ShownState, documentation: str | None) -> tuple[str, str]:
    """A config in two lines: its value and what the edit does, then what else is to be known, and Kafka's words."""
    shown = cell.text(state)
    was = f", was {cell.text(None) or 'not set'}" if state is not None and cell.is_read else ""
    first = f"{cell.config.resource}, {cell.config.key}: {shown or 'not set'}{was}"
    described = [" ".join((documentation or "").split())]
    sentences = [sentence for sentence in config_sentences(cell, state) if not sentence.startswith("Staged: set")]
    return printable(first), printable(" ".join(filter(None, [*sentences, *described])))


# -- a config


def config_details(cell: ConfigCell, state: ShownState, documentation: str | None) -> list[Block]:
    """The sentences on a config, every place with a value of it, and Kafka's description."""
    blocks: list[Block] = [Title(printable(cell.name)), "\n".join(map(printable, config_sentences(cell, state)))]
    rows: list[dict[str, object]] = [{"source": s.source, "key": s.key, "value": s.text} for s in cell.config.synonyms]
    if rows:  # the one that applies first; of a secret the places alone
        blocks.append(schemas.table(schemas.CONFIGS, rows).select(["source", "key", "value"]))
    return [*blocks, printable_lines(documentation)] if documentation else blocks


def config_sentences(cell: ConfigCell, state: ShownState) -> Iterator[str]:
    """What is staged there, and what one has to know of the config."""
    if isinstance(state, Refused):
        yield f"Not staged: {state.reason}"
    elif state is not None:
        yield f"Staged: {cell.words(state)}."
        if state.change.is_refused:
            yield f"Refused: {state.change.refusal}"
        if state.danger:
            yield f"Danger: {state.danger}."
    if cell.lock:
        yield f"It cannot be edited: {cell.lock}."
    if cell.is_secret:
        yield "A secret. Brokers never show its value, and it is set only by reference, such as env:NAME."
    if cell.has_own:
        fallback = cell.fallback_text
        yield "The value after a reset is not known here." if fallback is None else f"Without it: {fallback}."
    config = cell.config
    own = None if config.is_sensitive else config.own
    again = Change(1, SET, config.resource, config.key, old=own, wanted=own, after=own)
    if state is None and (same := same_stores([again])):  # typed in its cell it is not an edit
        yield same.at(magic)
