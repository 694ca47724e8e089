"""A flow of Prefect's that applies a reviewed plan, and tries again where another apply is under way.

Its environment needs `kadmin_nb[runbooks]` beside Prefect, and a way to the brokers. Documents go to RUNS.
"""

import os
from pathlib import Path

from prefect import flow, get_run_logger, task
from prefect.context import TaskRunContext

import kadmin_nb as kn

RUNS = os.environ.get("RUNS", "/srv/runs")
NEVER_AGAIN = (2, 3, 4, 5)
"""Exit codes that need a person, and no second try: a wrong parameter, a finding, changed in part, refused. Others may
pass: 1, as of a broker that could not be reached, and 75, another apply is under way."""


async def may_pass(task, run, state) -> bool:
    """Whether a failed try is followed by another one."""
    error = await state.aresult(raise_on_failure=False)
    return not isinstance(error, kn.KadminError) or error.exit_state not in NEVER_AGAIN


@task(retries=2, retry_delay_seconds=300, retry_condition_fn=may_pass)
def runbook(name: str, parameters: dict) -> str:
    """Run a runbook; every try has a document of its own."""
    run = TaskRunContext.get().task_run
    document = Path(RUNS, str(run.flow_run_id), f"{Path(name).stem}-{run.run_count}.ipynb")
    try:
        kn.runbooks.run(name, parameters, output=document)
    except kn.KadminError as error:
        get_run_logger().error("\n".join(error.lines()))
        raise
    return str(document)


@flow
def apply_reviewed_plan(plan: str, plan_id: str, cluster: str = "prod") -> str:
    """Apply the plan of that id, and no other."""
    return runbook("apply_plan", {"cluster": cluster, "plan": plan, "plan_id": plan_id, "apply": True})
