-- Clients near or over a limit: the last seven days in the table, the worst first.
SELECT
  cluster_id,
  key,
  coalesce(nullif(bucket_user, ''), 'every user') AS user,
  coalesce(nullif(bucket_client_id, ''), 'every client-id') AS client_id,
  lower(replace(level, '_', ' ')) AS level,
  `limit`,
  max(peak) AS peak,
  round(100 * max(peak) / `limit`, 1) AS peak_percent,
  round(100 * sum(windows_above_80) / sum(windows), 2) AS percent_of_time_above_80,
  max(CASE WHEN windows_above_80 > 0 THEN day END) AS last_day
FROM utilisation_daily
WHERE day > date_sub((SELECT max(day) FROM utilisation_daily), 7) AND `limit` IS NOT NULL
GROUP BY cluster_id, key, bucket_user, bucket_client_id, level, `limit`
HAVING sum(windows_above_80) > 0
ORDER BY peak_percent DESC, cluster_id, key, user, client_id
