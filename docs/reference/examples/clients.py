from kadmin_nb.clients import DynamicProducer as Producer

settings = {"bootstrap.servers": "localhost:9092", "client.id": "app"}
producer = Producer({**settings, "kadmin.user": "alice"})  # only where no login names the user
producer.produce("orders", b"an order")
producer.flush(10)
