-- What changed, when, the values before and after, and the plan that left the new value: the last thirty recorded days.
WITH recorded AS (
  SELECT 'quotas' AS frame, cluster_id, CAST(NULL AS STRING) AS resource_type, entity AS resource_name, key,
    IF(value = floor(value), CAST(CAST(value AS DECIMAL(38, 0)) AS STRING), CAST(value AS STRING)) AS value,
    CAST(NULL AS STRING) AS source, valid_from, valid_to
  FROM quotas_history
  UNION ALL
  SELECT 'configs', cluster_id, resource_type, resource_name, key, IF(is_sensitive, '[secure]', value), source,
    valid_from, valid_to
  FROM configs_history
  UNION ALL
  SELECT 'client_configs', cluster_id, CAST(NULL AS STRING), entity, key, value, CAST(NULL AS STRING),
    valid_from, valid_to
  FROM client_configs_history
  UNION ALL
  SELECT 'credentials', cluster_id, CAST(NULL AS STRING), entity, key, CAST(value AS STRING), CAST(NULL AS STRING),
    valid_from, valid_to
  FROM credentials_history
),
edges AS (
  SELECT frame, cluster_id, resource_type, resource_name, key, valid_from AS at, CAST(NULL AS STRING) AS before,
    value AS after, CAST(NULL AS STRING) AS source_before, source AS source_after, 1 AS set
  FROM recorded
  UNION ALL
  SELECT frame, cluster_id, resource_type, resource_name, key, valid_to, value, CAST(NULL AS STRING), source,
    CAST(NULL AS STRING), 0
  FROM recorded
  WHERE valid_to IS NOT NULL
),
changed AS (
  SELECT at, cluster_id, frame, resource_type, resource_name, key, max(before) AS before, max(after) AS after,
    IF(max(source_after) = 'STATIC_BROKER_CONFIG', NULL, max(after)) AS set_to,
    CASE WHEN sum(set) = 0 THEN 'removed' WHEN count(*) = 1 THEN 'added' ELSE 'changed' END AS change,
    IF(frame = 'configs' AND resource_type IN ('TOPIC', 'BROKER', 'CLIENT_METRICS', 'GROUP'), resource_type, '') AS part
  FROM edges
  GROUP BY at, cluster_id, frame, resource_type, resource_name, key
  HAVING sum(set) = 0 OR count(*) = 1 OR NOT max(before) <=> max(after)
    OR NOT max(source_before) <=> max(source_after)
),
taken AS (
  SELECT cluster_id, frame, part, taken_at,
    lag(taken_at) OVER (PARTITION BY cluster_id, frame, part ORDER BY taken_at) AS since
  FROM (
    SELECT DISTINCT cluster_id, kind AS frame, explode(split(concat(scopes, ' '), ' ')) AS part, taken_at FROM snapshots
  )
)
SELECT
  changed.at,
  changed.cluster_id,
  changed.frame,
  concat_ws(
    '=', replace(lower(changed.resource_type), '_', '-'), coalesce(nullif(changed.resource_name, ''), '<default>')
  ) AS resource,
  changed.key,
  changed.before,
  changed.after,
  changed.change,
  max_by(planned.author, planned.applied_until) AS author,
  max_by(planned.plan_id, planned.applied_until) AS plan_id
FROM changed
JOIN taken ON taken.cluster_id = changed.cluster_id AND taken.frame = changed.frame AND taken.part = changed.part
  AND taken.taken_at = changed.at
LEFT JOIN planned_changes AS planned
  ON planned.cluster_id = changed.cluster_id AND planned.frame = changed.frame
  AND planned.resource_type <=> changed.resource_type AND planned.resource_name = changed.resource_name
  AND planned.key = changed.key AND planned.value <=> changed.set_to
  AND planned.applied_from < changed.at AND planned.applied_until > taken.since
WHERE taken.since IS NOT NULL
  AND changed.at > (SELECT max(taken_at) FROM snapshots) - INTERVAL 30 DAYS
GROUP BY ALL
ORDER BY changed.at DESC, changed.cluster_id, changed.frame, resource, changed.key
