#!/bin/sh
# The daily flow without Databricks: what the cluster holds, what its clients used, how much of their limits that was, and what
# wants a look. It prints nothing unless a step fails; documents and what the steps said are in RUNS. Any of the four may run twice;
# what fails ends the script with the step's exit status, and the next run goes on from there.
set -eu

cd "${KADMIN_NB:-/srv/kadmin_nb}"          # a clone of the repository, with its databricks/ folder; nothing is written to it
LAKE="${LAKE:-spark_catalog.kafka}"        # a schema of the Spark with Delta that SPARK_REMOTE names
LOGS="${LOGS:-/logs/kafka}"                # broker-1/request.log.2026-11-24-13, …: closed files alone
RUNS="${RUNS:-/srv/runs}/$(date -u +%F)"
mkdir -p "$RUNS"

step() {
  name=$1; shift
  kadmin-nb runbook run "$@" -o "$RUNS/$name.ipynb" >"$RUNS/$name.log" 2>&1 || {
    status=$?
    echo "$name ended with exit status $status:"
    cat "$RUNS/$name.log"
    exit "$status"
  }
}

step record_history record_history -p cluster=prod -p history="$LAKE"
step usage databricks/request_logs.ipynb \
  -p logs="$LOGS/*/*{day}*" -p broker='broker-(\d+)/' -p tz=UTC -p limits="$LAKE" -p usage="$LAKE.usage"
step utilisation databricks/utilisation.ipynb -p usage="$LAKE.usage" -p history="$LAKE" -p utilisation="$LAKE.utilisation_daily"
step audit quota_audit -p cluster=prod -p fail=true
