"""Every change is a plan before it is an act: stage, plan, apply, verify."""

VERIFY_TIMEOUT = 15.0
"""Seconds that brokers are waited for without a further row; big batches take some (kafka-facts 3.1)."""

QUIET_PERIOD = 90.0
"""Seconds in which an alter whose answer was lost may still land (kafka-facts 3.2)."""

WAIT_LEASE = 150.0
"""Seconds that another editor's lease is waited for: longer than one that nobody renews lives."""

LAG = 1.0
"""Seconds within which a broker that serves shows what another does (kafka-facts 3.1: 0.65 after a large batch)."""

SHORTEST_ID = 6
"""Characters of a plan's id that name it."""
