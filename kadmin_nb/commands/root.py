"""The root of the one tree of commands."""

from __future__ import annotations

from typing import Any

import click

from .click_glue import LazyVerbs, Text

VERBS = {
    "client-configs": ("client_configs", "Clients that follow dynamic configs: who, which values, who would obey."),
    "cluster": ("current_cluster", "The current cluster's brokers."),
    "config": ("config", "Configs of topics, brokers, loggers, groups, client-metrics."),
    "diff": ("diff", "Differences from A to B."),
    "doctor": ("current_cluster", "Check a connection, step by step, and name what mends it."),
    "export": ("declared", "All quotas, and the configs that are set, as a file."),
    "history": ("history", "Record what clusters hold, and look back."),
    "kafka-client-quotas": ("kafka_client_quotas", "The command line that KIP-546 describes, for client quotas."),
    "kafka-configs": ("kafka_configs", "kafka-configs.sh: its arguments, its output, and a plan behind it."),
    "local": ("local", "A real Kafka on loopback, for demos, tutorials and tests."),
    "may-i": ("current_cluster", "Your rights: each that a change needs, and what grants it."),
    "observe": ("current_cluster", "Let every broker write its request log for a while."),
    "plan": ("plan", "Plans that exist: show, apply, verify, resume, roll back."),
    "policy": ("policy", "The rules that a team keeps, in a TOML file."),
    "quota": ("quota", "Client quotas: what is stored, what binds a client, changes."),
    "runbook": ("runbook", "Runbooks: notebooks with parameters."),
    "scram": ("scram", "Who logs in with SCRAM, and new passwords."),
    "scram-credentials": ("scram", "The scram-credentials tool of KIP-248."),
    "snapshot": ("current_cluster", "Save what the current cluster holds now, for diff."),
    "users": ("current_cluster", "Each known user: credentials, quotas, ACLs, usage, and orphans."),
    "use": ("current_cluster", "Make TARGET the current cluster."),
}
"""The module of each verb, and its line in help: no module is imported for that."""


@click.group(cls=LazyVerbs, lazy=VERBS)
def root() -> None:
    """Kafka quotas and configs: describe, resolve, stage, plan, apply, verify.

    \b
    {here} quota describe --cluster localhost:9092
    {here} quota resolve user=alice client-id=app
    {here} quota set producer_byte_rate=5MB/s user=alice --apply
    """


@root.command()
def version() -> Any:
    """The versions of kadmin_nb and of what it stands on."""
    from importlib.metadata import version as of

    return Text("\n".join(f"{name} {of(name)}" for name in ("kadmin_nb", "kafka-python", "confluent-kafka", "pyarrow")))


@root.command()
@click.option("--keep", is_flag=True, help="Leave the local Kafka running.")
def demo(keep: bool) -> Any:
    """From a real Kafka to a verified change in a minute."""
    from .local import demo as run

    return run(keep)
