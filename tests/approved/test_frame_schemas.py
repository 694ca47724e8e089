"""The Arrow schema of every frame: names, types and what may be null are a contract."""

from __future__ import annotations

import pytest

from kadmin_nb.frames import schemas

FRAMES = {name: frame.schema for name, frame in schemas.FRAMES.items()}


@pytest.mark.parametrize("name", FRAMES)
def test_the_schema_of_a_frame_is_approved(name, snapshot):
    """A column changed its type, and the table that a team had kept for a year took no more rows."""
    columns = [f"{field.name}: {field.type}{'' if field.nullable else ' not null'}" for field in FRAMES[name]]
    assert "\n".join(columns) == snapshot
