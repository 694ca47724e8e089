"""Findings: rules over frames, without IO and without changes."""

LEFTOVER, THROTTLE, DIFFERS, REPEATS, DEFAULT, UNREAD = (
    "leftover", "throttle", "differs", "repeats", "default", "unread",
)  # fmt: skip
FINDINGS = {
    LEFTOVER: "a replication throttle, and no reassignment is running",
    THROTTLE: "a replication throttle, and whether it is still needed is not known",
    DIFFERS: "a broker has another value than its peers",
    REPEATS: "set to what the level below it says already",
    DEFAULT: "set to what is Kafka's built-in default",
    UNREAD: "could not be read, so nothing is said of it",
}
"""The words of the column `finding`, in the order in which they come."""
