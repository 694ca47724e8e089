import kadmin_nb as kn

with kn.connect("prod") as cluster:
    history = kn.open_history("lake/kafka")
    history.record(cluster.snapshot())
    print(history.changes(between=("yesterday", None)))
    declared = kn.state.export(cluster.snapshot())
