import kadmin_nb as kn

requests = kn.usage.requests("kafka-request.log", broker=1, tz="UTC")
usage = kn.usage.usage(requests)
print(kn.usage.top(usage))
with kn.connect("prod") as cluster:
    print(cluster.quotas.near(usage, percent=50))
