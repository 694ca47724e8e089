"""What was meant and what came of it, on the disk before it is done, in a chain of hashes."""
