"""Text with a byte order mark is read as without it; UTF-16 is refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import kadmin_nb as kn
from kadmin_nb import state
from kadmin_nb.commands.plan_verbs import _change_lines_in
from kadmin_nb.commands.runbook import _parameters_in
from kadmin_nb.frames import frame_files as frames
from kadmin_nb.plans.journal import read_records
from kadmin_nb.policy import rules_of
from kadmin_nb.profiles import settings_for, targets
from kadmin_nb.profiles.secret_references import read_reference
from kadmin_nb.runbooks import catalogue

MARK = b"\xef\xbb\xbf"
SAVED = Path(__file__).parents[1] / "approved" / "saved"


class Reader(NamedTuple):
    """How a kind of file is read: its name, a text of it, and what reads it to something that tells its content."""

    name: str
    text: str
    read: Callable[[Path], object]


def profiles(place: Path) -> object:
    os.environ["KADMIN_CONFIG"] = str(place)
    return targets.load_profiles().tables


READERS = {
    "a plan": Reader("p.json", (SAVED / "applied.json").read_text(), lambda place: kn.Plan.load(place).id),
    "a journal": Reader(
        "j.jsonl", (SAVED / "applied.jsonl").read_text(), lambda place: read_records(place).records
    ),
    "parameters": Reader("p.json", '{"changes": ["set producer_byte_rate=1 user=a"]}', _parameters_in),
    "lines": Reader(
        "changes.txt", "set producer_byte_rate=1 user=a\n", lambda place: _change_lines_in(str(place)).splitlines()
    ),
    "YAML": Reader("c.yaml", "kadmin: 1\nquotas: {}\n", lambda place: state.load(place).kinds),
    "JSON": Reader("c.json", '{"kadmin": 1, "quotas": {}}', lambda place: state.load(place).kinds),
    "profiles": Reader("kadmin-nb.toml", '[profiles.a]\nbootstrap = "a:1"\n', profiles),
    "a policy": Reader("policies.py", "def f(quotas):\n    'x'\n", lambda place: rules_of(place)[0].line),
    "properties": Reader("c.properties", "bootstrap.servers=a:1\n", lambda place: settings_for(str(place)).bootstrap),
    "a secret": Reader("secret", "xyz\n", lambda place: read_reference(f"file:{place}", place.parent).reveal()),
    "a notebook": Reader(
        "n.ipynb", catalogue.SKELETON.read_text(), lambda place: catalogue.Runbook.read(place).parameters
    ),
    "a CSV": Reader("pairs.csv", "user,client_id\na,b\n", lambda place: frames.read_table(place).to_pylist()),
}  # fmt: skip


@pytest.mark.parametrize("kind", READERS)
def test_a_mark_changes_nothing(kind, tmp_path, monkeypatch):
    """`is not a plan file: Expecting value`, of a plan before which an editor had written three bytes."""
    monkeypatch.setenv("KADMIN_CONFIG", os.devnull)
    reader = READERS[kind]
    place = tmp_path / reader.name
    place.write_bytes(reader.text.encode())
    without = reader.read(place)
    place.write_bytes(MARK + reader.text.encode())
    assert repr(reader.read(place)) == repr(without)


@pytest.mark.parametrize("kind", [kind for kind in READERS if kind != "a journal"])  # its lines are torn then
def test_another_format_is_refused(kind, tmp_path, monkeypatch):
    """A file that PowerShell had written in UTF-16 was a stack trace."""
    monkeypatch.setenv("KADMIN_CONFIG", os.devnull)
    reader = READERS[kind]
    place = tmp_path / reader.name
    place.write_bytes(reader.text.encode("utf-16"))
    with pytest.raises((kn.Invalid, kn.UsageError)) as caught:
        reader.read(place)
    assert str(place) in str(caught.value)


def test_bytes_that_are_not_utf_8_have_their_line(tmp_path):
    """It said no more than that the file is not UTF-8."""
    place = tmp_path / "changes.txt"
    place.write_bytes(b"set producer_byte_rate=1 user=a\nset producer_byte_rate=1 user=\xe9\n")
    with pytest.raises(kn.Invalid, match=r"changes\.txt: line 2: it is not UTF-8, so it cannot be a file of lines"):
        _change_lines_in(str(place))
