import kadmin_nb as kn

with kn.connect("prod") as cluster:  # a profile, a .properties file, or host:port
    print(cluster.quotas.resolve(user="alice", client_id="app"))
    print(kn.diff("monday.yaml", cluster))
print(kn.doctor("prod"))
