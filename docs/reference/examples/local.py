import kadmin_nb as kn

with kn.local.start() as kafka, kafka.connect() as cluster:
    kn.local.seed(cluster)
    print(cluster.quotas.describe(user="team-orders"))
