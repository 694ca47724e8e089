"""The test that docs/how-to/policy-in-ci.md shows: what it writes is JUnit's XML, a case for each rule."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import kadmin_nb as kn
from tests.policy.judged_snapshots import MB, held, quotas

ROOT = Path(__file__).parents[2]
RULES = '''
def too_high(quotas):
    """Ask the <platform> team."""
    return quotas[quotas.value > 50e6]


def no_ip(quotas):
    """Addresses change."""
    return quotas[quotas.level == "IP"]
'''


def test_ci_gets_its_xml(tmp_path: Path) -> None:
    """The report had a `<` in it, and CI showed none."""
    (shown,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/how-to/policy-in-ci.md").read_text(), re.DOTALL)
    assert len([line for line in shown.splitlines() if line]) == 6
    held_quotas = held(quotas(("user=<b>", "producer_byte_rate", 60 * MB)))
    (tmp_path / "prod.yaml").write_text(kn.state.export(held_quotas))
    connected = 'kn.connect("prod")'
    assert connected in shown
    (tmp_path / "test_policies.py").write_text(shown.replace(connected, 'kn.state.load("prod.yaml").snapshot()'))
    (tmp_path / "policies.py").write_text(RULES)
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_policies.py", "--junitxml=policy.xml"]
    ran = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert ran.returncode == 1, ran.stdout + ran.stderr
    (suite,) = ElementTree.parse(tmp_path / "policy.xml").getroot().iter("testsuite")
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["errors"]) == ("2", "1", "0")
    cases = {case.attrib["name"]: case.find("failure") for case in suite.iter("testcase")}
    assert cases["test_rule[no_ip]"] is None
    assert "producer_byte_rate is 60 MB/s" in cases["test_rule[too_high]"].text


def test_a_rule_is_tested_as_any_function() -> None:
    """Nobody dared to change a rule, since nobody could try it."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("policies", ROOT / "kadmin-nb.policies.example.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    frame = kn.Answer(quotas(("user=alice", "producer_byte_rate", 60 * MB))).to_pandas()
    assert list(module.no_user_above_50_MB(frame).entity) == ["user=alice"]
    with pytest.raises(kn.UsageError, match="severity warn"):
        kn.rule(severity="warn")
