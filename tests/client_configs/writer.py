"""An admin in a process of its own, which kills itself before or after a step of its alter."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from kadmin_nb.admin.transactions import FencedWriter
from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.client_configs.topic import ClientConfigTopic, WireClientConfigs
from kadmin_nb.model.client_configs import ClientEntity, Replacement
from kadmin_nb.model.connection_settings import Settings


def killed_at(real: Callable[..., Any], when: str) -> Callable[..., Any]:
    def step(*arguments: Any, **options: Any) -> Any:
        if when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)
        return result

    return step


def main(bootstrap: str, topic: str, name: str, when: str) -> None:
    kind = ClientConfigTopic if name == "newest" else FencedWriter
    setattr(kind, name, killed_at(getattr(kind, name), when))
    port = WireClientConfigs(LiveKafka(Settings(bootstrap)).wire, topic)
    alice, app = ClientEntity("alice"), ClientEntity("alice", "app")
    port.alter({alice: {"acks": Replacement("1", "0")}, app: {"acks": Replacement(None, "0")}})


if __name__ == "__main__":
    main(*sys.argv[1:])
