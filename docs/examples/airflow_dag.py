"""The daily flow as a DAG of Airflow's: four notebooks, one after the other, each tried again by itself.

The workers need kadmin_nb with its runbooks, a way to the brokers, and `SPARK_REMOTE`, a Spark with Delta.
"""

from datetime import datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

LAKE, LOGS, DAY = "spark_catalog.kafka", "/logs/kafka", "{{ macros.ds_add(ds, -1) }}"
RUNBOOKS = {
    "record_history": ("record_history", {"cluster": "prod", "history": LAKE}),
    "usage": (
        "databricks/request_logs.ipynb",
        {
            "logs": f"{LOGS}/*/*{{day}}*",
            "day": DAY,
            "broker": r"broker-(\d+)/",
            "tz": "UTC",
            "limits": LAKE,
            "usage": f"{LAKE}.usage",
        },
    ),
    "utilisation": (
        "databricks/utilisation.ipynb",
        {"day": DAY, "usage": f"{LAKE}.usage", "history": LAKE, "utilisation": f"{LAKE}.utilisation_daily"},
    ),
    "audit": ("quota_audit", {"cluster": "prod", "fail": "true"}),
}

with DAG(
    "kadmin_nb_daily",
    schedule="0 4 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=5)},
):
    before = None
    for task_id, (runbook, parameters) in RUNBOOKS.items():
        words = " ".join(f"-p '{name}={value}'" for name, value in parameters.items())
        task = BashOperator(
            task_id=task_id,
            bash_command=f"kadmin-nb runbook run {runbook} {words}",
            cwd="/srv/kadmin_nb",
            env={"KADMIN_CONFIG": "/etc/kadmin-nb.toml", "SPARK_REMOTE": "sc://spark.example.com:15002"},
            append_env=True,
        )
        if before is not None:
            before >> task
        before = task
