-- The current limits, since when they apply, and the plan that set them.
SELECT
  limits.cluster_id,
  limits.entity,
  limits.key,
  limits.value,
  limits.valid_from AS since,
  max(taken.author) AS author,
  max(taken.plan_id) AS plan_id
FROM quotas_history AS limits
LEFT JOIN snapshots AS taken
  ON taken.cluster_id = limits.cluster_id AND taken.frame = 'quotas' AND taken.taken_at = limits.valid_from
WHERE limits.valid_to IS NULL
GROUP BY limits.cluster_id, limits.entity, limits.key, limits.value, limits.valid_from
ORDER BY since DESC, limits.cluster_id, limits.entity, limits.key
