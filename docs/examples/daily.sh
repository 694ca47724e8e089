#!/bin/sh
# The daily flow without Databricks: what the cluster holds, what its clients used, how much of their limits that was, and what
# wants a look. Any of the four may run twice; what fails ends the script, and the next run goes on from there.
set -eu

cd "${KADMIN_NB:-/srv/kadmin_nb}"          # a clone of the repository, with its databricks/ folder
LAKE="${LAKE:-spark_catalog.kafka}"        # a schema of the Spark with Delta that SPARK_REMOTE names
LOGS="${LOGS:-/logs/kafka}"                # broker-1/request.log.2026-11-24-13, …: closed files alone
RUNS="${RUNS:-/var/log/kadmin_nb/$(date -u +%F)}"
mkdir -p "$RUNS"

kadmin-nb runbook run record_history -o "$RUNS/record_history.ipynb" \
  -p cluster=prod -p history="$LAKE"
kadmin-nb runbook run databricks/request_logs.ipynb -o "$RUNS/usage.ipynb" \
  -p logs="$LOGS/*/*{day}*" -p broker='broker-(\d+)/' -p tz=UTC -p limits="$LAKE" -p usage="$LAKE.usage"
kadmin-nb runbook run databricks/utilisation.ipynb -o "$RUNS/utilisation.ipynb" \
  -p usage="$LAKE.usage" -p history="$LAKE" -p utilisation="$LAKE.utilisation_daily"
kadmin-nb runbook run quota_audit -o "$RUNS/audit.ipynb" \
  -p cluster=prod -p fail=true
