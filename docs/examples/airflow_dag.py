"""The daily flow as a DAG of Airflow's: four notebooks, one after the other, each tried again by itself.

The workers need `kadmin-nb` on their PATH, from an environment of its own with `kadmin_nb[runbooks,spark]`,
and `[delta]` where the history is a folder; a clone of the repository for its folder databricks/; a way to the brokers;
and the variables KADMIN_CONFIG (the profiles' file) and SPARK_REMOTE (a Spark with Delta). Documents go to RUNS.
"""

import os
import shlex
from datetime import datetime, timedelta

from airflow.providers.standard.hooks.subprocess import SubprocessHook
from airflow.sdk import DAG, BaseOperator
from airflow.sdk.exceptions import AirflowFailException

CLONE = os.environ.get("KADMIN_NB", "/srv/kadmin_nb")
RUNS = os.environ.get("RUNS", "/srv/runs")
NEVER_AGAIN = (2, 3, 4, 5)
"""Exit codes that need a person, and no second try: a wrong line, a finding, changed in part, refused. Others may pass:
1, as of a broker that could not be reached, and 75, another apply is under way."""

LAKE, LOGS = "spark_catalog.kafka", "/logs/kafka"
"""Where LAKE has several clusters, the lines of usage and utilisation name theirs: `-p cluster_id=ID`."""
DAY = "{{ macros.ds_add((dag_run.logical_date or dag_run.run_after) | ds, -1) }}"
"""The day before that of the run. A run that was triggered by hand may have no logical date, and then no `ds`."""

LINES = {
    "record_history": f"record_history -p cluster=prod -p history={LAKE}",
    "usage": f"databricks/request_logs.ipynb -p 'logs={LOGS}/*/*{{day}}*' -p 'day={DAY}' -p 'broker=broker-(\\d+)/'"
    f" -p tz=UTC -p limits={LAKE} -p usage={LAKE}.usage",
    "utilisation": f"databricks/utilisation.ipynb -p 'day={DAY}' -p usage={LAKE}.usage -p history={LAKE}"
    f" -p utilisation={LAKE}.utilisation_daily",
    "audit": "quota_audit -p cluster=prod -p fail=true",
}
"""What follows `kadmin-nb runbook run`, for each task."""


class RunbookOperator(BaseOperator):
    """Runs `kadmin-nb runbook run LINE`; every try has a document of its own, and returns its place."""

    template_fields = ("line", "document")

    def __init__(self, line: str, **options) -> None:
        super().__init__(**options)
        self.line = line
        self.document = RUNS + "/{{ run_id }}/{{ task.task_id }}-{{ ti.try_number }}.ipynb"
        self.hook = SubprocessHook()

    def execute(self, context) -> str:
        words = ["kadmin-nb", "runbook", "run", *shlex.split(self.line), "-o", self.document]
        ended = self.hook.run_command(words, cwd=CLONE)
        if ended.exit_code:
            error = AirflowFailException if ended.exit_code in NEVER_AGAIN else RuntimeError
            document = f", and so does {self.document}" if os.path.exists(self.document) else ""
            raise error(f"exit code {ended.exit_code}: the log says why and what helps{document}")
        return self.document

    def on_kill(self) -> None:
        self.hook.send_sigterm()


with DAG(
    "kadmin_nb_daily",
    schedule="0 4 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=5), "execution_timeout": timedelta(hours=2)},
) as dag:
    before = None
    for task_id, line in LINES.items():
        task = RunbookOperator(task_id=task_id, line=line)
        if before is not None:
            before >> task
        before = task
