-- Hours since the last snapshot, of the cluster where that is longest ago.
SELECT max(hours) AS value
FROM (
  SELECT timestampdiff(HOUR, max(taken_at), current_timestamp()) AS hours
  FROM snapshots
  GROUP BY cluster_id
)
