import kadmin_nb as kn

spark = kn.spark_session()
kn.sql.register(spark, quotas=kn.connect("prod").quotas.describe())
spark.sql("SELECT * FROM kafka_effective(TABLE(SELECT 'alice' AS user, 'app' AS client_id))").show()
