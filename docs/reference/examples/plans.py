import kadmin_nb as kn

cluster = kn.connect("prod")
stage = cluster.new_stage()
stage.set_quota("producer_byte_rate", "5MB/s", user="alice", client_id="app")
stage.add("set consumer_byte_rate=5MB/s user=alice client-id=app")
plan = stage.plan("the fair")
plan.save("p.json")
plan.apply().raise_for_errors()
cluster.rollback(plan).apply().raise_for_errors()
