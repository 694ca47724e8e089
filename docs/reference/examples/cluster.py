import kadmin_nb as kn

with kn.connect("prod") as cluster:
    cluster.quotas.describe(user="alice").to_pandas()
    print(cluster.quotas.why("alice", "app"))
    print(cluster.configs.describe(topic="orders", only_set=True))
    kn.open_history("lake/kafka").record(cluster.snapshot())
