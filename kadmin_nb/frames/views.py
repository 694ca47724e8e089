"""Views: what people see of each frame, as the frame declares it, and which title some rows make.

A table of somebody else shows its columns as they are. A column that is empty in every row is left out: of the
view, never of the frame.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import printable
from ..model.levels import DEFAULT_IP, IP, OTHER
from ..model.quota_keys import QUOTA_KEY_NAMES
from . import schemas
from .blocks import NOT_SET, STANDING
from .meanings import PARTS, USED, Part, part, values_of


@dataclass(frozen=True, slots=True)
class View:
    """The columns that people see of a frame, as names of parts, and the noun of its rows, as one and as many.

    `finding` is the title where the number of rows is not what matters. `split` parts the rows that matter from the
    others, which stand below them.
    """

    names: Sequence[str] = ()
    nouns: tuple[str, str] = ("", "")
    finding: Callable[[pa.Table], str] | None = None
    split: Callable[[pa.Table], tuple[pa.Table, pa.Table]] | None = None

    def title(self, table: pa.Table) -> str:
        """The finding, or the number of rows."""
        if self.finding is not None and table.num_rows:
            return printable(self.finding(table))
        return counted_nouns(table.num_rows, *self.nouns) if any(self.nouns) else ""

    def ordered(self, table: pa.Table) -> pa.Table:
        """The rows that matter first."""
        return table if self.split is None else pa.concat_tables(self.split(table))

    def parts(self, table: pa.Table) -> list[Part]:
        """The parts of this table that are not empty in every row."""
        names = [name for name in self.names if _is_there(name.rstrip("!"), table)] or self.names
        there = [replace(part(name.rstrip("!"), table), stays=name.endswith("!")) for name in names]
        return [one for one in there if not _is_empty(one, table)] or there


def counted_nouns(count: int, one: str, many: str) -> str:
    """So many, in words."""
    return f"1 {one}" if count == 1 else f"{count:,} {many}" if count else f"no {many}"


def in_short(brokers: int, version: str, *more: str) -> str:
    """A cluster in a few words, as far as they are known: `3 brokers, Kafka 4.4`."""
    counted = counted_nouns(brokers, "broker", "brokers") if brokers else ""
    return ", ".join(filter(None, [counted, f"Kafka {version}" if version else "", *more]))


KEYS = "keys!"
"""What a frame shows whose keys are columns where its rows are of several entities, and columns of `key` else."""

_IN_ROWS = ("key!", "value!")


def across(table: pa.Table) -> pa.Table:
    """The rows of a frame that shows its keys as columns: one for each entity, in their order; any other as it is."""
    frame = schemas.frame_of(table)
    if frame is None or KEYS not in vars(frame).get("shown", "").split() or table.num_rows > MOST_ACROSS:
        return table
    names = [*(name for name in ("cluster_id",) if name in table.column_names), "level", "entity"]
    rows: dict[tuple[object, ...], dict[str, object]] = {}
    columns = [values_of(table, name) for name in (*names, "key", "value", "standing")]
    for *names_of_row, key, value, standing in zip(*columns, strict=True):
        cells = rows.setdefault(tuple(names_of_row), {})
        if key is not None:
            cells[key] = {"value": value, "standing": standing}
    if len(rows) < 2:
        return table
    keys = {key: None for cells in rows.values() for key in cells}
    in_order = [*filter(keys.__contains__, QUOTA_KEY_NAMES), *sorted(keys.keys() - {*QUOTA_KEY_NAMES})]
    rows = dict(sorted(rows.items(), key=lambda row: row[0][-2] in _OF_ADDRESSES))
    limits = (pa.array([cells.get(key) for cells in rows.values()], _STANDING) for key in in_order)
    whose = (pa.array(column, pa.string()) for column in zip(*rows, strict=True))
    wide = pa.table([*whose, *limits], [*names, *in_order])
    return wide.replace_schema_metadata(table.schema.metadata)


_OF_ADDRESSES = frozenset({IP, DEFAULT_IP, OTHER})
"""The levels that are shown after those of users and client-ids."""

MOST_ACROSS = 20_000
"""Rows from which on keys are not made columns: nobody reads so many, and a file has a row for each key."""

_STANDING = pa.struct([("value", pa.float64()), ("standing", pa.string())])


def view_of(table: pa.Table) -> View:
    """The view of a table's frame; the table may have more columns, first or last.

    A table of somebody else, or of some columns of a frame, shows them in their order.
    """
    frame, columns = schemas.frame_of(table), table.column_names
    if frame is None:
        part_of = schemas.named_frame(table)
        said = part_of.shown.split() if part_of else ()
        if KEYS in said and "entity" in columns and "key" not in columns:
            own = [name for name in columns if name not in ("level", "entity")]
            keys = [f"{name}!" for name in own if name not in LEADING]
            return View([*(own[: len(own) - len(keys)]), *(name for name in said if name != KEYS), *keys])
        declared = {name.rstrip("!"): name for name in (*(f"{name}!" for name in FOLLOWING), *said)}
        return View([declared.get(name, name) for name in columns])
    titled = next((TITLED[base] for base in frame.__mro__ if base in TITLED), View())
    shown = " ".join(frame.shown.split() or frame.names).replace(KEYS, " ".join(_IN_ROWS)).split()
    marked = {name.rstrip("!") for name in shown}
    leading, following = ([n for n in some if n in columns and n not in marked] for some in (LEADING, FOLLOWING))
    others = [name for name in columns if name not in schemas.ALSO.union(frame.names)]
    names = [*leading, *shown, *(f"{name}!" for name in following), *others]
    return replace(titled, names=names, nouns=frame.nouns)


LEADING, FOLLOWING = ("cluster_id", "taken_at"), ("overrides", "why", "error", "message")
"""Columns that stand first, or last, where a table has them. Reasons and errors give way to nothing."""


def _is_there(name: str, table: pa.Table) -> bool:
    """True where any row has something in it."""
    sources = PARTS[name].sources if name in PARTS else (USED.get(name, name),)
    columns = [table[source] for source in sources if source in table.column_names]
    return any(column.null_count < len(column) for column in columns) or _null_tells(name, table)


def _null_tells(name: str, table: pa.Table) -> bool:
    """True where null is a value too: unlimited, or unknown."""
    if USED.get(name) in table.column_names:
        return True
    return name in ("value", "limit") and name in table.column_names and not _OF_LIMITS.isdisjoint(table.column_names)


_OF_LIMITS = frozenset({"level", "line"})
"""Columns beside which a null limit is one that there is not."""


def _is_empty(one: Part, table: pa.Table) -> bool:
    """True where no row has a text in it. Of very many rows the first tell, and what they leave open is shown."""
    nothing = {"", None, NOT_SET} if one.look == STANDING else {"", None}
    return table.num_rows <= ROWS_AT_ONCE and nothing.issuperset(one.texts(table))


ROWS_AT_ONCE = 4096
"""Rows that are text at the same time."""


# --- quotas ---


def _quotas_finding(table: pa.Table) -> str:
    count = counted_nouns(table.num_rows, "quota", "quotas")
    entities = pc.unique(table["entity"])
    return f"{count} on {entities[0].as_py() if len(entities) == 1 else f'{len(entities):,} entities'}"


def _limits_finding(table: pa.Table) -> str:
    unlimited = table["value"].null_count
    binding = counted_nouns(table.num_rows - unlimited, "limit applies", "limits apply")
    return f"{binding}; {unlimited:,} unlimited" if unlimited else binding


def _tree_finding(table: pa.Table) -> str:
    shadowed = len(table) - table["shadowed_by"].null_count
    of_entities = _quotas_finding(table.filter(table["key"].is_valid()))
    return f"{of_entities}; {shadowed:,} can never apply" if shadowed else of_entities


def _counted(words: pa.ChunkedArray) -> list[str]:
    """Each word with the number of rows that have it, in their order."""
    return [f"{count:,} {word}" for word, count in Counter(words.drop_null().to_pylist()).items()]


# --- differences ---

DIFFERENCES = {
    "removed": "only in a",
    "added": "only in b",
    "changed": "changed",
    "source": "set elsewhere",
    "unknown": "that could not be read",
}
"""The states of rows that differ, in the words of a title."""


def differences_finding(counts: Mapping[str, int]) -> str:
    """The number of rows that differ, and how many of each state."""
    parts = [f"{counts[state]:,} {word}" for state, word in DIFFERENCES.items() if counts.get(state)]
    total = sum(counts.get(state, 0) for state in DIFFERENCES)
    if not parts:
        return "no difference"
    if total == 1:
        return "1 difference"
    return f"{total:,} differences" + (f": {', '.join(parts)}" if len(parts) > 1 else "")


# --- configs ---

BUILT_IN = "DEFAULT_CONFIG"


def _configs_finding(table: pa.Table) -> str:
    resources = {*zip(table["resource_type"].to_pylist(), table["resource_name"].to_pylist(), strict=True)}
    of = PARTS["resource_of"].texts(table.slice(0, 1))[0] if len(resources) == 1 else f"{len(resources):,} resources"
    unread, (own, defaults) = table["key"].null_count, _own_and_defaults(table)
    counts = f"{counted_nouns(table.num_rows - unread, 'config', 'configs')} of {of}"
    is_set = f": {own.num_rows - unread:,} set, {defaults.num_rows:,} by default" if defaults.num_rows else ""
    return f"{counts}{is_set}" + (f"; {unread:,} could not be read" if unread else "")


def _own_and_defaults(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The rows whose value somebody set, and those that are Kafka's own default."""
    is_default = pc.is_in(table["source"].cast(pa.string()), pa.array([BUILT_IN], pa.string()))
    return table.filter(pc.invert(is_default)), table.filter(is_default)


def _users_finding(table: pa.Table) -> str:
    return "; ".join([counted_nouns(table.num_rows, "user", "users"), *_counted(table["finding"])])


def _followers_finding(table: pa.Table) -> str:
    keys = pc.unique(table["key"]).to_pylist()
    clients = table.group_by(["user", "client_id", "instance"]).aggregate([]).num_rows
    known = counted_nouns(clients, "known client", "known clients")
    if len(keys) != 1:
        return known
    return f"{pc.sum(table['follows']).as_py()} of {known} would follow a new {keys[0]}"


TITLED: Mapping[type, View] = {
    schemas.QUOTAS: View(finding=_quotas_finding),
    schemas.EFFECTIVE: View(finding=_limits_finding),
    schemas.EFFECTIVE_IP: View(finding=_limits_finding),
    schemas.CONFIGS: View(finding=_configs_finding, split=_own_and_defaults),
    schemas.USERS: View(
        finding=_users_finding,
        split=lambda users: (users.filter(users["finding"].is_valid()), users.filter(users["finding"].is_null())),
    ),
    schemas.STATUS: View(finding=lambda table: f"Values of clients: {', '.join(_counted(table['state']))}"),
    schemas.FOLLOWERS: View(finding=_followers_finding),
    schemas.TREE: View(finding=_tree_finding),
}
"""The frames whose title is more than a number of rows, and those with rows that matter before others."""
