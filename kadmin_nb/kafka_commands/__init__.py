"""Kafka's own command lines, without IO: their arguments as reads and edits, and answers as the lines they print."""
