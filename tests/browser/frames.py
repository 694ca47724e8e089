"""Cells of notebooks that make quota frames of any size, without a Kafka, and open the editor over them."""

from __future__ import annotations

from tests.widgets.every_widget import WIDGETS

MANY = """
import numpy as np, pyarrow as pa
import kadmin_nb as kn
from kadmin_nb.frames import schemas
from kadmin_nb.errors import UsageError
from kadmin_nb.frames.answer import Answer
from kadmin_nb.plans.stage import Stage
from kadmin_nb.widgets.editor import QuotaEditor
from kadmin_nb.widgets.quota_sheet import StoredQuotas

def quotas(names):
    rows = len(names)
    columns = {"entity": [str(kn_entity(name)) for name in names], "level": ["USER"] * rows, "user": names}
    columns |= {"client_id": pa.nulls(rows, pa.string()), "ip": pa.nulls(rows, pa.string())}
    values = pa.array(np.arange(rows) * 1000.0 + 1e6)
    return pa.table({**columns, "key": ["producer_byte_rate"] * rows, "value": values}).cast(schemas.QUOTAS.schema)

def kn_entity(name):
    from kadmin_nb.model.entity import Entity
    return Entity.of({"user": name})

def numbered(rows):
    names = pa.array([f"u{n:07}" for n in range(rows)])
    import pyarrow.compute as pc
    entities = pc.binary_join_element_wise("user=", names, "")
    nothing = pa.nulls(rows, pa.string())
    columns = {"entity": entities, "level": pa.repeat("USER", rows), "user": names, "client_id": nothing, "ip": nothing}
    values = pa.array(np.arange(rows) * 1000.0 + 1e6)
    columns |= {"key": pa.repeat("producer_byte_rate", rows), "value": values}
    return pa.table(columns).cast(schemas.QUOTAS.schema)

def refuse(*edits):
    raise UsageError("no cluster is here")

stage = Stage(refuse)

def editor(table):
    return QuotaEditor(lambda: StoredQuotas(table), stage, lambda user, client_id: Answer(table))
"""
"""Defines `quotas(names)`, `numbered(rows)`, `stage` and `editor(table)`."""

EVERY = ["from tests.widgets.every_widget import *", *(f"WIDGETS[{name!r}]('alice', '<b>bob</b>')" for name in WIDGETS)]
"""Cells that show each widget, over rows of its own."""
