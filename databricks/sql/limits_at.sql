-- The limits of a cluster as they were at a time: :at, such as 2026-11-20T12:00:00Z.
SELECT cluster_id, entity, level, user, client_id, ip, key, value
FROM quotas_history
WHERE valid_from <= CAST(:at AS TIMESTAMP) AND (valid_to IS NULL OR valid_to > CAST(:at AS TIMESTAMP))
ORDER BY cluster_id, entity, key
