#!/bin/sh
# The daily flow without Databricks: what the cluster holds, what its clients used, how much of their limits that was, and what
# wants a look. It prints nothing unless a step fails; documents and what the steps said are in RUNS. Any of the four may run twice;
# what fails ends the script with the step's exit status, and the next run goes on from there. A second cluster is a second line of
# the crontab, with its CLUSTER and LOGS; both may have one LAKE.
set -eu

cd "${KADMIN_NB:-/srv/kadmin_nb}"          # a clone of the repository, with its databricks/ folder; nothing is written to it
LAKE="${LAKE:-spark_catalog.kafka}"        # a schema of the Spark with Delta that SPARK_REMOTE names
LOGS="${LOGS:-/logs/kafka}"                # broker-1/request.log.2026-11-24-13, …: closed files alone
LOGS_TZ="${LOGS_TZ:-UTC}"                  # the time zone by which brokers name them
CLUSTER="${CLUSTER:-prod}"                 # a profile
RUNS="${RUNS:-/srv/runs}/$(date -u +%F)/$CLUSTER"
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

step record_history record_history -p cluster="$CLUSTER" -p history="$LAKE"
ID=$(sed -n 's/.*"cluster_id": *"\([^"][^"]*\)".*/\1/p' "$RUNS/record_history.json" 2>/dev/null | head -n 1)  # of what was read
step usage databricks/request_logs.ipynb -p cluster_id="$ID" \
  -p logs="$LOGS/*/*{day}*" -p broker='broker-(\d+)/' -p tz="$LOGS_TZ" -p limits="$LAKE" -p usage="$LAKE.usage"
step utilisation databricks/utilisation.ipynb -p cluster_id="$ID" -p tz="$LOGS_TZ" \
  -p usage="$LAKE.usage" -p history="$LAKE" -p utilisation="$LAKE.utilisation_daily"
step audit quota_audit -p cluster="$CLUSTER" -p fail=true
