"""Snapshot: what a cluster held at a time, its quotas and its configs, as two frames."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from ..model.resources import Resource
from ..secrets import is_called_so
from . import schemas
from .answer import Answer
from .display import Display
from .schema_metadata import CLUSTER_ID, TAKEN_AT, stamped

QUOTAS_PART = "QUOTAS"
CONFIG_SCOPES = ("TOPIC", "BROKER", "CLIENT_METRICS", "GROUP")
SCOPES = (QUOTAS_PART, *CONFIG_SCOPES)
"""The readable state of a cluster: its quotas, and the configs of each type of resource."""

ID, COMPLETE, SCOPE = "kadmin.snapshot_id", "kadmin.complete", "kadmin.scopes"
_RESOURCES = "kadmin.resources"


@dataclass(frozen=True, eq=False, repr=False)
class Snapshot(Display):
    """Quotas and configs of a cluster at a time; what is in no scope was not read, and says nothing.

    `quotas` and `configs` are SNAPSHOT frames: Answers, for Arrow, pandas or Spark. `resources` are all that could be
    listed, also those on which nothing is set; None where nobody tells, as in a history.
    """

    id: str
    cluster_id: str
    taken_at: datetime
    scopes: tuple[str, ...]
    complete: bool
    quotas: Answer
    configs: Answer
    resources: tuple[Resource, ...] | None = None

    @property
    def failed(self) -> Answer:
        """The config resources that could not be read, with their errors."""
        return self.configs.failed

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it to a `.parquet` file, whole or not at all. There is no secret in it."""
        from .snapshot_files import save

        return save(Path(path), self.quotas.to_arrow(), self.configs.to_arrow(), _marks(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Snapshot:
        """Read what `save` wrote.

        Raises
        ------
        NotFound, Invalid
            No such file; a file that holds no snapshot.
        """
        from .snapshot_files import load_snapshot

        return load_snapshot(Path(path), _of_marks)

    def title(self) -> str:
        counted = f"{len(self.quotas):,} quotas, {len(self.configs):,} configs"
        half = "" if self.complete else f", NOT COMPLETE: {len(self.failed):,} could not be read"
        return f"<Snapshot {self.id} of {self.cluster_id} at {self.taken_at.isoformat()}: {counted}{half}>"


def snapshot(
    quotas: pa.Table,
    configs: pa.Table,
    *,
    cluster_id: str,
    taken_at: datetime,
    scopes: Collection[str] = SCOPES,
    snapshot_id: str | None = None,
    complete: bool = True,
    resources: Iterable[Resource] | None = None,
) -> Snapshot:
    """The snapshot of these QUOTAS and CONFIGS; secrets are taken out, and rows with an error make it incomplete."""
    configs = without_secrets(configs)
    complete = complete and not pc.any(pc.is_valid(configs["error"])).as_py()
    unique_id = snapshot_id or uuid.uuid4().hex
    scopes = tuple(scope for scope in SCOPES if scope in scopes)
    marks = {ID: unique_id, COMPLETE: str(bool(complete)).lower(), SCOPE: " ".join(scopes)}
    columns = {"cluster_id": cluster_id, "taken_at": taken_at, "snapshot_id": unique_id, "complete": bool(complete)}

    def frame(table: pa.Table, schema: pa.Schema) -> Answer:
        same = {n: pa.repeat(pa.scalar(value, schema.field(n).type), len(table)) for n, value in columns.items()}
        whole = pa.table(
            [same.get(f.name, table[f.name] if f.name in table.column_names else None) for f in schema], schema=schema
        )
        return Answer(stamped(whole, cluster_id, marks, at=taken_at.isoformat(timespec="microseconds")))

    both = (frame(quotas, schemas.SNAPSHOT_QUOTAS.schema), frame(configs, schemas.SNAPSHOT_CONFIGS.schema))
    listed = None if resources is None else tuple(resources)
    return Snapshot(unique_id, cluster_id, taken_at, scopes, bool(complete), *both, listed)


def _marks(snapshot: Snapshot) -> dict[str, str]:
    """A snapshot's file says these beside its frames."""
    marks = {
        CLUSTER_ID: snapshot.cluster_id,
        TAKEN_AT: snapshot.taken_at.isoformat(timespec="microseconds"),
        ID: snapshot.id,
        COMPLETE: str(snapshot.complete).lower(),
        SCOPE: " ".join(snapshot.scopes),
    }
    if snapshot.resources is not None:
        marks[_RESOURCES] = json.dumps([(resource.type, resource.name) for resource in snapshot.resources])
    return marks


def _of_marks(quotas: pa.Table, configs: pa.Table, marks: Mapping[str, str]) -> Snapshot:
    """The snapshot of a file's frames and marks. Raises ValueError, KeyError where they are none."""
    return snapshot(
        quotas,
        configs,
        cluster_id=marks[CLUSTER_ID],
        taken_at=datetime.fromisoformat(marks[TAKEN_AT]),
        scopes=marks[SCOPE].split(),
        snapshot_id=marks[ID],
        complete=marks[COMPLETE] == "true",
        resources=[Resource(*fields) for fields in json.loads(marks[_RESOURCES])] if _RESOURCES in marks else None,
    )


def without_secrets(configs: pa.Table) -> pa.Table:
    """CONFIGS with no value, and no synonym's, where a broker or the key's name says that it is a secret."""
    keys = configs["key"].cast(pa.string())
    called_so = [key for key in pc.unique(keys).to_pylist() if key is not None and is_called_so(key)]
    secret = pc.is_in(keys, pa.array(called_so, pa.string()))
    if "is_sensitive" in configs.column_names:
        secret = pc.or_(secret, pc.fill_null(configs["is_sensitive"], False))
    if not pc.any(secret).as_py():
        return configs
    for name in {"value", "synonyms"} & set(configs.column_names):
        nothing = pa.nulls(len(configs), configs[name].type)
        configs = _with(configs, name, pc.if_else(secret, nothing, configs[name]))
    marked = configs["is_sensitive"] if "is_sensitive" in configs.column_names else pa.nulls(len(configs), pa.bool_())
    return _with(configs, "is_sensitive", pc.if_else(secret, True, marked))


def _with(configs: pa.Table, name: str, column: pa.ChunkedArray) -> pa.Table:
    if name not in configs.column_names:
        return configs.append_column(name, column)
    return configs.set_column(configs.schema.get_field_index(name), name, column)
