-- The current limits, since when they apply, and the plan that set them.
WITH taken AS (
  SELECT cluster_id, taken_at, lag(taken_at) OVER (PARTITION BY cluster_id ORDER BY taken_at) AS before
  FROM (SELECT DISTINCT cluster_id, taken_at FROM snapshots WHERE kind = 'quotas')
)
SELECT
  limits.cluster_id,
  limits.entity,
  limits.key,
  limits.value,
  limits.valid_from AS since,
  max_by(planned.author, planned.applied_until) AS author,
  max_by(planned.plan_id, planned.applied_until) AS plan_id
FROM quotas_history AS limits
LEFT JOIN taken ON taken.cluster_id = limits.cluster_id AND taken.taken_at = limits.valid_from
LEFT JOIN planned_changes AS planned
  ON planned.cluster_id = limits.cluster_id AND planned.frame = 'quotas'
  AND planned.resource_name = limits.entity AND planned.key = limits.key
  AND CAST(planned.value AS DOUBLE) = limits.value
  AND planned.applied_from < limits.valid_from AND planned.applied_until > taken.before
WHERE limits.valid_to IS NULL
GROUP BY limits.cluster_id, limits.entity, limits.key, limits.value, limits.valid_from
ORDER BY since DESC, limits.cluster_id, limits.entity, limits.key
