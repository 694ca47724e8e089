"""An op of Dagster's that runs a runbook: the audit of a cluster, each morning; it fails where something wants a look.

The executed notebook is the op's metadata. The machine needs kadmin_nb with its runbooks, and a way to the brokers.
"""

from dagster import Definitions, MetadataValue, OpExecutionContext, RetryPolicy, ScheduleDefinition, job, op

import kadmin_nb as kn

CLUSTER, RUNS = "prod", "/srv/runs"


@op(retry_policy=RetryPolicy(max_retries=2, delay=300))
def audit(context: OpExecutionContext) -> None:
    """Run the shipped runbook `quota_audit`; its document stays whatever its end."""
    place = f"{RUNS}/quota_audit-{context.run_id}.ipynb"
    context.add_output_metadata({"document": MetadataValue.path(place)})
    kn.runbooks.run("quota_audit", {"cluster": CLUSTER, "fail": True}, output=place)


@job
def quota_audit() -> None:
    """One op."""
    audit()


daily = ScheduleDefinition(job=quota_audit, cron_schedule="0 6 * * *")
defs = Definitions(jobs=[quota_audit], schedules=[daily])
