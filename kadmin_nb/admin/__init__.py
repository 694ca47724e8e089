"""Talking to brokers. The only room that imports kafka-python and confluent-kafka."""
