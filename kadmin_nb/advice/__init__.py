"""Findings: rules over frames, without IO and without changes."""

LEFTOVER, THROTTLE, DIFFERS, REPEATS, DEFAULT, UNREAD = (
    "leftover", "throttle", "differs", "repeats", "default", "unread",
)  # fmt: skip
FINDINGS = {
    LEFTOVER: "a replication throttle without a running reassignment",
    THROTTLE: "a replication throttle that may no longer be needed",
    DIFFERS: "a broker has another value than its peers",
    REPEATS: "repeats the level below it",
    DEFAULT: "repeats Kafka's default",
    UNREAD: "could not be read, so it was not checked",
}
"""The words of the column `finding`, in the order in which they come."""
