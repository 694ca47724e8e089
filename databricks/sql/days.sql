-- Day by day: the buckets that were near their limit, above it, and throttled.
SELECT
  cluster_id,
  day,
  count(DISTINCT CASE WHEN windows_above_80 > 0 THEN struct(key, bucket_user, bucket_client_id) END) AS near,
  count(DISTINCT CASE WHEN windows_above_100 > 0 THEN struct(key, bucket_user, bucket_client_id) END) AS above,
  count(DISTINCT CASE WHEN windows_throttled > 0 THEN struct(key, bucket_user, bucket_client_id, user, client_id) END)
    AS throttled
FROM utilisation_daily
WHERE day > date_sub((SELECT max(day) FROM utilisation_daily), 90)
GROUP BY cluster_id, day
ORDER BY day, cluster_id
