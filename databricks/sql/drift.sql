-- Quotas, and configs of topics and groups, that differ between clusters now.
WITH now AS (
  SELECT 'quotas' AS frame, cluster_id, entity AS resource, key, CAST(value AS STRING) AS value
  FROM quotas_history
  WHERE valid_to IS NULL
  UNION ALL
  SELECT 'configs', cluster_id, concat(lower(resource_type), '=', resource_name), key, value
  FROM configs_history
  WHERE valid_to IS NULL AND resource_type IN ('TOPIC', 'GROUP') AND NOT coalesce(is_sensitive, false)
),
clusters AS (SELECT count(DISTINCT cluster_id) AS number FROM snapshots)
SELECT
  frame,
  resource,
  key,
  array_join(array_sort(collect_list(concat(cluster_id, ': ', coalesce(value, '')))), ', ') AS values,
  CASE WHEN count(*) < max(number) THEN 'not on all clusters' ELSE 'other values' END AS difference
FROM now CROSS JOIN clusters
GROUP BY frame, resource, key
HAVING count(*) < max(number) OR count(DISTINCT value) > 1
ORDER BY frame, resource, key
