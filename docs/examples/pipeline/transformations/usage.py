"""Request logs to USAGE: `request_lines` and `requests` read what is new, `usage` is what each client used."""

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

import kadmin_nb as kn

spark = SparkSession.active()
LOGS, BROKER, TZ = (spark.conf.get(f"kafka.{name}") for name in ("logs", "broker", "tz"))
request = kn.sql.kafka_request(broker=BROKER, tz=TZ)


@dp.table
def request_lines() -> DataFrame:
    """The lines of the files that are there, each file once."""
    files = spark.readStream.option("recursiveFileLookup", "true").text(LOGS)
    return files.selectExpr("_metadata.file_path AS path", "value AS line")


@dp.table
def requests() -> DataFrame:
    """What clients asked."""
    parsed = spark.readStream.table("request_lines").select(request("path", "line").alias("request"))
    return parsed.where("request.fault IS NULL AND request.reason IS NULL").select("request.*")


@dp.table
def rejected_lines() -> DataFrame:
    """The lines that are not requests, and why."""
    lines = spark.readStream.table("request_lines")
    return lines.select("path", "line", request("path", "line").getField("fault").alias("fault")).where("fault > ''")


@dp.materialized_view
def usage() -> DataFrame:
    """What each client used on each broker, minute by minute."""
    return kn.sql.usage_of(spark.read.table("requests"), every="1 minute")
