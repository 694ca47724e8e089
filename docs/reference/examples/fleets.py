import kadmin_nb as kn

spark = kn.spark_session()
quotas = kn.connect("prod").quotas.describe().to_spark(spark)
clients = spark.createDataFrame([("alice", "app"), ("bob", "")], "user string, client_id string")
kn.fleets.resolve(quotas, clients, keys="producer_byte_rate").show()
