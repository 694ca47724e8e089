"""An editor in a process of its own: it holds a lease, and renews it before each alter that stdin asks for."""

from __future__ import annotations

import sys

from kadmin_nb.admin import lease
from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.errors import PlanRefused
from kadmin_nb.model.connection_settings import Settings
from kadmin_nb.model.entity import Entity


def hold(bootstrap: str, topic: str, plan: str, seconds: str) -> None:
    """Say `held`, then for each user that is asked for `sent`, or why not."""
    kafka = LiveKafka(Settings(bootstrap))
    held = lease.take(kafka.wire, plan, "carol", seconds=float(seconds), topic=topic)
    print(held.note or "held", flush=True)
    for user in sys.stdin:
        try:
            held.renew()
            kafka.quotas.alter({Entity.parse(f"user={user.strip()}"): {"producer_byte_rate": 1.0}})
            print("sent", flush=True)
        except PlanRefused as refused:
            print(refused.code, refused, flush=True)


if __name__ == "__main__":
    hold(*sys.argv[1:])
