"""What a terminal says of a file of a runbook's parameters."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a": 1, "a": 2}'])
def test_a_file_that_has_no_parameters_is_refused(kadmin, tmp_path: Path, content: str) -> None:
    """I gave it the wrong file, and it ran with the defaults."""
    place = tmp_path / "parameters.json"
    place.write_text(content)
    done = kadmin("runbook", "run", "change_quotas", "-f", str(place))
    assert done.code in (1, 2)
    assert str(place) in done.err


YAML = """# as papermill takes it
cluster: prod:9092
changes:
  - set producer_byte_rate=5MB/s user=007
  - "remove producer_byte_rate user=yes"
apply: True
limit: 5
reason: null
allow: []
"""


def test_parameters_stand_in_a_yaml_file_as_papermill_takes_it(kadmin, tmp_path: Path, monkeypatch) -> None:
    """papermill -f takes my YAML, and runbook run -f said that it is no JSON."""
    from kadmin_nb.runbooks import launcher

    monkeypatch.setattr(
        launcher, "run", lambda name, given, output: repr(launcher.bound_parameters(launcher.find(name), given))
    )
    place = tmp_path / "parameters.yaml"
    place.write_text(f"\ufeff{YAML}".replace("reason: null\n", ""))
    done = kadmin("runbook", "run", "change_quotas", "-f", str(place), "-p", "limit=6")
    wanted = {
        "cluster": "prod:9092",
        "changes": ["set producer_byte_rate=5MB/s user=007", "remove producer_byte_rate user=yes"],
        "apply": True,
        "limit": 6,
        "allow": [],
    }
    assert (done.code, done.out, done.err) == (0, f"{wanted}\n", "")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is not a mapping of parameters"),
        ("- a", "is not a mapping of parameters"),
        ("apply: yes", "apply is declared bool"),
        ("limit: 1\nlimit: 2", "limit occurs twice, first in line 1"),
        ("a: &a [1]\nb: *a", "anchor"),
        ("a: !!python/object:os.system x", "tag"),
        ("a: " + "x" * (1 << 22), "is larger than"),
    ],
)
def test_yaml_that_is_none_of_ours_is_refused(kadmin, tmp_path: Path, content: str, says: str) -> None:
    """A file of nine lines grew to gigabytes, another one started a program, and a yes was true."""
    place = tmp_path / "parameters.yml"
    place.write_text(content)
    done = kadmin("runbook", "run", "change_quotas", "-f", str(place))
    assert done.code in (1, 2)
    assert says in done.err
