"""The Arrow schema of every frame: names, types and what may be null are a contract."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kadmin_nb.frames import schemas

FRAMES = {name: value for name, value in vars(schemas).items() if isinstance(value, pa.Schema)}


@pytest.mark.parametrize("name", [name for name in FRAMES if not name.startswith("_")])
def test_the_schema_of_a_frame_is_approved(name, snapshot):
    """A column changed its type, and the table that a team had kept for a year took no more rows."""
    columns = [f"{field.name}: {field.type}{'' if field.nullable else ' not null'}" for field in FRAMES[name]]
    assert "\n".join(columns) == snapshot
