"""The form of docs/explanation/how-quotas-resolve.md follows the rule of kadmin_nb."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kadmin_nb.model.entity import Entity
from kadmin_nb.model.grammar import DEFAULT
from kadmin_nb.model.quota_keys import parse_value
from kadmin_nb.resolution.rules import Stored, resolve_client
from tests.resolution.hierarchies import HOSTILE, KEY, subset

SCRIPT = Path(__file__).parents[2] / "docs" / "explanation" / "resolver.js"
CLIENTS = [("alice", "app"), ("alice", ""), ("alice", "else"), ("bob", "app"), ("bob", ""), ("", "app"), ("", "")]
VALUES = {
    "producer_byte_rate": ["1", "5MB/s", "5MB", "512KiB", "1_000_000", "0.5kB/s", "2GiB"],
    "request_percentage": ["50%", "50", "12.5"],
    "controller_mutation_rate": ["20", "20/s", "0.5"],
}

pytestmark = pytest.mark.slow


def _evaluated(expression: str) -> Any:
    """The value of an expression of the script, by node where there is one, else by Chromium."""
    if node := shutil.which("node"):
        told = f"{SCRIPT.read_text()}\nprocess.stdout.write(JSON.stringify({expression}));"
        done = subprocess.run([node, "-"], input=told, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    from playwright.sync_api import sync_playwright

    from tests.browser.presence import chromium

    program = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_content(
            "<form id=resolver><textarea name=quotas></textarea><input name=user><input name=client></form>"
        )
        page.evaluate("document.body.append(Object.assign(document.createElement('div'), {id: 'resolved'}))")
        page.add_script_tag(content=SCRIPT.read_text())
        return page.evaluate(expression)


def _quotas(stored: Stored) -> list[dict[str, Any]]:
    """Quotas as the script has them."""
    return [
        {"user": _part(entity, "user"), "client_id": _part(entity, "client-id"), "key": key, "value": value}
        for (entity, key), value in stored.items()
    ]


def _part(entity: Entity, kind: str) -> Any:
    part = entity.get(kind)
    return "default" if part is DEFAULT else None if part is None else [part]


def test_the_form_follows_the_rule() -> None:
    """The page explained that the larger quota wins."""
    stored = [subset(number) for number in range(256)]
    stored += [subset(255, name, name) for name in HOSTILE]
    clients = [*CLIENTS, *((name, name) for name in HOSTILE)]
    told = json.dumps([[_quotas(one) for one in stored], clients])
    of_each = f"clients.map(([user, client]) => resolve(quotas, user, client, {KEY!r}))"
    answers = _evaluated(f"(([all, clients]) => all.map((quotas) => {of_each}))({told})")
    for one, of_clients in zip(stored, answers, strict=True):
        for (user, client_id), found in zip(clients, of_clients, strict=True):
            effective = resolve_client(one, user, client_id, KEY)
            shown = [(each["level"], each["value"]) for each in found]
            lost = [(each.level, each.value) for each in effective.overridden]
            assert shown == ([] if effective.level is None else [(effective.level, effective.value), *lost])
            assert effective.bucket is None or tuple(found[0]["bucket"]) == effective.bucket


@pytest.mark.parametrize(("key", "text"), [(key, text) for key, texts in VALUES.items() for text in texts])
def test_the_form_reads_values_as_the_grammar_does(key: str, text: str) -> None:
    """5MB was five bytes on the page."""
    line = f"user==<default> client-id=<default> {key}={text}"
    (quota,) = _evaluated(f"readLine({json.dumps(line)})")
    assert (quota["user"], quota["client_id"]) == (["<default>"], "default")
    assert quota["value"] == parse_value(key, text)


def test_the_form_tells_what_it_cannot_read() -> None:
    """A misspelt key was passed over, and the table said unlimited."""
    expression = "[{}].map(() => {{ try {{ return readLine({}); }} catch (error) {{ return error.message; }} }})[0]"
    for line in ("user=alice producer_byte_rat=5", "producer_byte_rate=5", "user=alice producer_byte_rate=0"):
        assert isinstance(_evaluated(expression.format("0", json.dumps(line))), str)
