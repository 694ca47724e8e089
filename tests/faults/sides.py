"""The two kinds of change as the wire knows them: how one is made, and how it is seen to have happened."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from kadmin_nb.admin.ports import ConfigOperation
from kadmin_nb.client_configs.kafka import LiveKafka
from kadmin_nb.errors import TimedOut
from kadmin_nb.model.entity import Entity
from kadmin_nb.model.resources import Resource
from tests.faults.proxy import ALTER_CONFIGS, ALTER_QUOTAS, DESCRIBE_CONFIGS, DESCRIBE_QUOTAS

ALTER_TIMEOUT = 1.5
"""Seconds that an alter may take here, so that a lost one is soon known to be lost."""


@dataclass(frozen=True)
class Side:
    """API keys; `alter(kafka, name)` gives the error's code or None, `holds` tells whether the broker has it."""

    altering: int
    describing: int
    alter: Callable[[LiveKafka, str], str | None]
    describe: Callable[[LiveKafka, str], object]
    holds: Callable[[LiveKafka, str], bool]


def _alter_quota(kafka: LiveKafka, name: str) -> str | None:
    entity = Entity.of({"user": name})
    try:
        refused = kafka.quotas.alter({entity: {"producer_byte_rate": 5.0}})[entity]
    except TimedOut as exc:
        return exc.code
    return refused.code if refused else None


def _alter_config(kafka: LiveKafka, name: str) -> str | None:
    resource = Resource("CLIENT_METRICS", name)
    refused = kafka.configs.alter({resource: [ConfigOperation("set", "interval.ms", "12345")]})[resource]
    return refused.code if refused else None


def _describe_quota(kafka: LiveKafka, name: str) -> list[str]:
    return kafka.quotas.describe()["entity"].to_pylist()


def _describe_config(kafka: LiveKafka, name: str) -> list[str | None]:
    return kafka.configs.describe([Resource("CLIENT_METRICS", name)])["value"].to_pylist()


QUOTAS = Side(ALTER_QUOTAS, DESCRIBE_QUOTAS, _alter_quota, _describe_quota,
              lambda kafka, name: f"user={name}" in _describe_quota(kafka, name))  # fmt: skip
CONFIGS = Side(ALTER_CONFIGS, DESCRIBE_CONFIGS, _alter_config, _describe_config,
               lambda kafka, name: "12345" in _describe_config(kafka, name))  # fmt: skip
SIDES = {"quotas": QUOTAS, "configs": CONFIGS}


def shows_up(look: Callable[[], bool], within: float = 15.0) -> bool:
    """Whether it is so some time within these seconds."""
    until = time.monotonic() + within
    while not (seen := look()) and time.monotonic() < until:
        time.sleep(0.02)
    return seen
