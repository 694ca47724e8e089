-- Limits that changed on the last recorded day without a plan of kadmin_nb.
SELECT count(*) AS value
FROM quotas_history AS limits
JOIN snapshots AS taken
  ON taken.cluster_id = limits.cluster_id AND taken.frame = 'quotas' AND taken.taken_at = limits.valid_from
WHERE taken.plan_id IS NULL
  AND taken.taken_at > (SELECT max(taken_at) FROM snapshots) - INTERVAL 1 DAY
  AND taken.taken_at > (SELECT min(first.taken_at) FROM snapshots AS first WHERE first.cluster_id = taken.cluster_id)
