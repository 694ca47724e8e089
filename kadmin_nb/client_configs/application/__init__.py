"""What runs inside an application: it needs confluent-kafka, and of ours the nouns and records of this room."""
