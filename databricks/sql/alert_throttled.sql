-- Buckets that were throttled on the last day in the table.
SELECT count(DISTINCT cluster_id, key, bucket_user, bucket_client_id) AS value
FROM utilisation_daily
WHERE day = (SELECT max(day) FROM utilisation_daily) AND windows_throttled > 0 AND `limit` IS NOT NULL
