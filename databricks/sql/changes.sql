-- What changed, when, the values before and after, and the plan that left the new value: the last thirty recorded days.
WITH recorded AS (
  SELECT 'quotas' AS frame, cluster_id, CAST(NULL AS STRING) AS resource_type, entity AS resource_name, key,
    CAST(value AS STRING) AS value, valid_from, valid_to
  FROM quotas_history
  UNION ALL
  SELECT 'configs', cluster_id, resource_type, resource_name, key, value, valid_from, valid_to
  FROM configs_history
  UNION ALL
  SELECT 'client_configs', cluster_id, CAST(NULL AS STRING), entity, key, value, valid_from, valid_to
  FROM client_configs_history
),
edges AS (
  SELECT frame, cluster_id, resource_type, resource_name, key, valid_from AS at, CAST(NULL AS STRING) AS before,
    value AS after, 1 AS set
  FROM recorded
  UNION ALL
  SELECT frame, cluster_id, resource_type, resource_name, key, valid_to, value, CAST(NULL AS STRING), 0
  FROM recorded
  WHERE valid_to IS NOT NULL
),
changed AS (
  SELECT at, cluster_id, frame, resource_type, resource_name, key, max(before) AS before, max(after) AS after,
    CASE WHEN sum(set) = 0 THEN 'removed' WHEN count(*) = 1 THEN 'added' ELSE 'changed' END AS change
  FROM edges
  GROUP BY at, cluster_id, frame, resource_type, resource_name, key
),
taken AS (
  SELECT cluster_id, frame, taken_at, lag(taken_at) OVER (PARTITION BY cluster_id, frame ORDER BY taken_at) AS since
  FROM (SELECT DISTINCT cluster_id, frame, taken_at FROM snapshots)
),
planned AS (
  SELECT cluster_id, frame, resource_type, resource_name, key, plan_id, author, applied_from, applied_until,
    CASE WHEN frame = 'quotas' THEN CAST(CAST(value AS DOUBLE) AS STRING) ELSE value END AS value
  FROM planned_changes
)
SELECT
  changed.at,
  changed.cluster_id,
  changed.frame,
  concat_ws('=', lower(changed.resource_type), changed.resource_name) AS resource,
  changed.key,
  changed.before,
  changed.after,
  changed.change,
  max_by(planned.author, planned.applied_until) AS author,
  max_by(planned.plan_id, planned.applied_until) AS plan_id
FROM changed
JOIN taken ON taken.cluster_id = changed.cluster_id AND taken.frame = changed.frame AND taken.taken_at = changed.at
LEFT JOIN planned
  ON planned.cluster_id = changed.cluster_id AND planned.frame = changed.frame
  AND planned.resource_type <=> changed.resource_type AND planned.resource_name = changed.resource_name
  AND planned.key = changed.key AND planned.value <=> changed.after
  AND planned.applied_from < changed.at AND planned.applied_until > taken.since
WHERE taken.since IS NOT NULL
  AND changed.at > (SELECT max(taken_at) FROM snapshots) - INTERVAL 30 DAYS
GROUP BY ALL
ORDER BY changed.at DESC, changed.cluster_id, changed.frame, resource, changed.key
