"""A job of Dagster's that runs a runbook: the audit of a cluster, each morning; it fails where something wants a look.

Its environment needs `kadmin_nb[runbooks]` beside Dagster, and a way to the brokers. Documents go to RUNS; a run has
its document as metadata, whether it ended well or not. The Launchpad takes another runbook and its parameters.
"""

import os
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field

import kadmin_nb as kn

RUNS = os.environ.get("RUNS", "/srv/runs")
NEVER_AGAIN = (2, 3, 4, 5)
"""Exit codes that need a person, and no second try: a wrong parameter, a finding, changed in part, refused. Others may
pass: 1, as of a broker that could not be reached, and 75, another apply is under way."""


class Runbook(dg.Config):
    """A runbook and its parameters."""

    name: str = "quota_audit"
    parameters: dict[str, Any] = Field({"cluster": "prod", "fail": True})


@dg.op(retry_policy=dg.RetryPolicy(max_retries=2, delay=300))
def runbook(context: dg.OpExecutionContext, config: Runbook) -> None:
    """Run it; every try has a document of its own."""
    document = Path(RUNS, context.run_id, f"{Path(config.name).stem}-{context.retry_number + 1}.ipynb")
    try:
        kn.runbooks.run(config.name, config.parameters, output=document)
    except kn.KadminError as error:
        metadata = {"hint": dg.MetadataValue.text(error.hint or "")}
        if document.exists():
            metadata["document"] = dg.MetadataValue.path(document)
        raise dg.Failure(str(error), metadata, allow_retries=error.exit_state not in NEVER_AGAIN) from None
    context.add_output_metadata({"document": dg.MetadataValue.path(document)})


@dg.job
def kadmin_nb_runbook() -> None:
    """One op."""
    runbook()


daily = dg.ScheduleDefinition(job=kadmin_nb_runbook, cron_schedule="0 6 * * *")
defs = dg.Definitions(jobs=[kadmin_nb_runbook], schedules=[daily])
