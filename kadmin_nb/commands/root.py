"""The root of the one tree of commands."""

from __future__ import annotations

from typing import Any

import click

from ..frames.blocks import Text
from .click_glue import LazyVerbs
from .session import Session

SECTIONS = {
    "Quotas and configs": {
        "quota": ("quota", "Client quotas: list, explain and change them."),
        "config": ("config", "Configs of topics, brokers, loggers, groups, metrics."),
        "client-configs": ("config", "Clients that follow dynamic configs."),
        "scram": ("config", "SCRAM users: list them, set passwords, delete."),
        "users": ("current_cluster", "List users: credentials, quotas, ACLs, usage."),
        "top": ("live", "Full screen: who uses what of which limit, live."),
    },
    "Plans and files": {
        "plan": ("plan_verbs", "Saved plans: show, apply, verify, roll back."),
        "export": ("state_verbs", "Write quotas and configs to a YAML file."),
        "diff": ("state_verbs", "Compare two clusters, files or times."),
        "policy": ("plan_verbs", "A team's rules for quotas and configs."),
        "history": ("state_verbs", "Record clusters, and look up what was set when."),
        "runbook": ("runbook", "Runbooks: notebooks with parameters."),
    },
    "Clusters": {
        "use": ("current_cluster", "Make TARGET the current cluster."),
        "doctor": ("current_cluster", "Check a connection, step by step."),
        "may-i": ("current_cluster", "Show the rights a change needs, and what grants them."),
        "observe": ("current_cluster", "Switch on the brokers' request logs for a while."),
        "metrics": ("live", "Serve metrics for Prometheus: limits and use."),
        "mcp": ("assistant", "Serve an assistant: it looks and plans, no more."),
        "local": ("local", "A real Kafka on this machine, for demos and tests."),
    },
    "Kafka's own command lines": {
        "kafka-configs": ("kafka_configs", "kafka-configs.sh: its arguments and its output."),
        "kafka-client-quotas": ("kafka_client_quotas", "The command line that KIP-546 describes."),
        "scram-credentials": ("config", "The scram-credentials tool of KIP-248."),
    },
}
"""The verbs under their headings in help: the module of each, and its line there. No module is imported for that."""


@click.group(cls=LazyVerbs, sections=SECTIONS)
def root() -> None:
    """Kafka quotas and configs: describe, resolve, stage, plan, apply, verify.

    \b
    {here} quota describe --cluster localhost:9092
    {here} quota resolve user=alice client-id=app
    {here} quota set producer_byte_rate=5MB/s user=alice --apply
    """


@root.command()
def version() -> Any:
    """Show the versions of kadmin_nb and its dependencies."""
    from importlib.metadata import version as of

    return Text("\n".join(f"{name} {of(name)}" for name in ("kadmin_nb", "kafka-python", "confluent-kafka", "pyarrow")))


@root.command("help")
@click.argument("topic", type=click.Choice(["options"]), required=False)
@click.pass_context
def help_(ctx: click.Context, topic: str | None) -> Any:
    """Show the options that most commands have: help options."""
    from .click_glue import SharedOption
    from .options import reading

    if topic is None:
        return Text(ctx.find_root().get_help())
    command = click.command()(reading(lambda session: None))
    formatter = click.HelpFormatter(width=80)
    formatter.write("Commands that ask a cluster have these options; without a table as their answer\n")
    formatter.write("they have --cluster, --property and --timeout alone.\n")
    with formatter.section("Options"):
        formatter.write_dl([one.described(ctx) for one in command.params if isinstance(one, SharedOption)])
    return Text(formatter.getvalue().rstrip())


@root.command()
@click.pass_obj
def demo(session: Session) -> Any:
    """See it in a minute: a real Kafka, a verified change."""
    from .local import demo as run

    return run(session)
