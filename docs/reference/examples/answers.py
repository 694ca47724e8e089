import kadmin_nb as kn

answer = kn.connect("prod").quotas.describe()
limits = {(row["entity"], row["key"]): row["value"] for row in answer}
fastest = answer.to_pandas().sort_values("value").tail(3)
table = answer.to_arrow()
