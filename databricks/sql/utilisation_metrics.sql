-- A metric view over utilisation_daily: SELECT day, MEASURE(peak_percent) FROM utilisation_metrics GROUP BY day.
CREATE OR REPLACE VIEW utilisation_metrics WITH METRICS LANGUAGE YAML AS $$
version: 0.1
source: utilisation_daily
dimensions:
  - name: cluster_id
    expr: cluster_id
  - name: day
    expr: day
  - name: broker
    expr: broker
  - name: key
    expr: key
  - name: bucket_user
    expr: bucket_user
  - name: bucket_client_id
    expr: bucket_client_id
  - name: level
    expr: lower(replace(level, '_', ' '))
measures:
  - name: peak
    expr: max(peak)
  - name: peak_percent
    expr: max(100 * peak / `limit`)
  - name: mean
    expr: sum(used_sum) / sum(CASE WHEN used_sum IS NOT NULL THEN windows END)
  - name: percent_of_time_above_80
    expr: 100 * sum(windows_above_80) / sum(windows)
  - name: percent_of_time_above_100
    expr: 100 * sum(windows_above_100) / sum(windows)
  - name: throttled_s
    expr: sum(windows_throttled * window_s)
  - name: longest_throttle_ms
    expr: max(throttle_ms)
$$
