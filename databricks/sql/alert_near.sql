-- Buckets that were above 80 % of their limit for at least 5 % of the last day in the table.
SELECT count(DISTINCT cluster_id, key, bucket_user, bucket_client_id) AS value
FROM utilisation_daily
WHERE day = (SELECT max(day) FROM utilisation_daily) AND windows_above_80 >= windows / 20 AND windows_above_80 > 0
