-- Limits that were set, changed or removed on the last recorded day, and not by a plan of kadmin_nb.
WITH edges AS (
  SELECT cluster_id, entity, key, valid_from AS at, value FROM quotas_history
  UNION ALL
  SELECT cluster_id, entity, key, valid_to, CAST(NULL AS DOUBLE) FROM quotas_history WHERE valid_to IS NOT NULL
),
changed AS (
  SELECT cluster_id, entity, key, at, max(value) AS value FROM edges GROUP BY cluster_id, entity, key, at
),
taken AS (
  SELECT cluster_id, taken_at, lag(taken_at) OVER (PARTITION BY cluster_id ORDER BY taken_at) AS since
  FROM (SELECT DISTINCT cluster_id, taken_at FROM snapshots WHERE kind = 'quotas')
)
SELECT count(*) AS value
FROM changed
JOIN taken ON taken.cluster_id = changed.cluster_id AND taken.taken_at = changed.at
LEFT ANTI JOIN planned_changes AS planned
  ON planned.cluster_id = changed.cluster_id AND planned.frame = 'quotas'
  AND planned.resource_name = changed.entity AND planned.key = changed.key
  AND CAST(planned.value AS DOUBLE) <=> changed.value
  AND planned.applied_from < changed.at AND planned.applied_until > taken.since
WHERE taken.since IS NOT NULL AND changed.at > (SELECT max(taken_at) FROM snapshots) - INTERVAL 1 DAY
