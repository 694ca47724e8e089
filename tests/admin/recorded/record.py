"""Writes the recorded answers anew: `PYTHONPATH=.:tests/admin python tests/admin/recorded/record.py`."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from kadmin_nb import local
from kadmin_nb.admin.wire_kinds import _quotas_request
from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.model.connection_settings import Settings
from kadmin_nb.model.entity import Entity
from tests.admin.test_conformance_quotas import HOSTILE, SHAPES


def alterations() -> dict[Entity, dict[str, float]]:
    """Every shape and every hostile name, with one to four keys."""
    rates = {"producer_byte_rate": 1e6, "consumer_byte_rate": 2.0**53, "request_percentage": 12.5}
    shapes = [Entity.of(parts) for parts, _ in SHAPES.values()]
    named = [Entity.of({"user": name, "client-id": name}) for name in HOSTILE]
    return {
        e: {"connection_creation_rate": 7.0} if e.get("ip") else dict(list(rates.items())[: 1 + n % 3])
        for n, e in enumerate([*shapes, *named])
    }


for version in ("4.3.1", "3.9.2"):
    with local.start(version=version) as kafka, contextlib.closing(LiveKafka(Settings(kafka.bootstrap))) as reached:
        reached.quotas.alter(alterations())
        time.sleep(0.5)
        frame = reached.wire.ask(lambda: _quotas_request((), False), doing="recording")
        (Path(__file__).parent / f"describe-client-quotas-{version}.bin").write_bytes(frame)
