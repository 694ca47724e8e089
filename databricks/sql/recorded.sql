-- The snapshots of each cluster: since when, how many, and the last one.
SELECT
  cluster_id,
  kind,
  count(*) AS snapshots,
  min(taken_at) AS since,
  max(taken_at) AS last_taken_at,
  max_by(rows, taken_at) AS rows_now
FROM snapshots
GROUP BY cluster_id, kind
ORDER BY cluster_id, kind
