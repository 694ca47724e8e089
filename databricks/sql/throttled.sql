-- Clients that were throttled, for how long, and since when: the last thirty days in the table.
SELECT
  cluster_id,
  key,
  coalesce(nullif(bucket_user, ''), user, 'every user') AS user,
  coalesce(nullif(bucket_client_id, ''), client_id, 'every client-id') AS client_id,
  `limit`,
  round(sum(windows_throttled * window_s)) AS throttled_s,
  max(throttle_ms) AS longest_throttle_ms,
  max(longest_above_100_s) AS longest_above_limit_s,
  min(day) AS since,
  max(day) AS last_day
FROM utilisation_daily
WHERE day > date_sub((SELECT max(day) FROM utilisation_daily), 30) AND windows_throttled > 0
GROUP BY ALL
ORDER BY throttled_s DESC, cluster_id, key, user, client_id
