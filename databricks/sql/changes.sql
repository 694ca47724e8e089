-- What changed, when, the values before and after, and the plan: the last thirty recorded days, the latest first.
WITH recorded AS (
  SELECT 'quotas' AS frame, cluster_id, entity AS resource, key, CAST(value AS STRING) AS value, valid_from, valid_to
  FROM quotas_history
  UNION ALL
  SELECT 'configs', cluster_id, concat(lower(resource_type), '=', resource_name), key, value, valid_from, valid_to
  FROM configs_history
  UNION ALL
  SELECT 'client_configs', cluster_id, entity, key, value, valid_from, valid_to
  FROM client_configs_history
),
moves AS (
  SELECT frame, cluster_id, resource, key, valid_from AS at, CAST(NULL AS STRING) AS before, value AS after, 1 AS set
  FROM recorded
  UNION ALL
  SELECT frame, cluster_id, resource, key, valid_to, value, CAST(NULL AS STRING), 0
  FROM recorded
  WHERE valid_to IS NOT NULL
),
first_ones AS (SELECT cluster_id, frame, min(taken_at) AS taken_at FROM snapshots GROUP BY cluster_id, frame)
SELECT
  moves.at,
  moves.cluster_id,
  moves.frame,
  moves.resource,
  moves.key,
  max(moves.before) AS before,
  max(moves.after) AS after,
  CASE WHEN sum(moves.set) = 0 THEN 'removed' WHEN count(*) = 1 THEN 'added' ELSE 'changed' END AS change,
  max(taken.author) AS author,
  max(taken.plan_id) AS plan_id
FROM moves
JOIN first_ones USING (cluster_id, frame)
LEFT JOIN snapshots AS taken
  ON taken.cluster_id = moves.cluster_id AND taken.frame = moves.frame AND taken.taken_at = moves.at
WHERE moves.at > first_ones.taken_at
  AND moves.at > (SELECT max(taken_at) FROM snapshots) - INTERVAL 30 DAYS
GROUP BY moves.at, moves.cluster_id, moves.frame, moves.resource, moves.key
ORDER BY moves.at DESC, moves.cluster_id, moves.frame, moves.resource, moves.key
