"""Clients that a lower limit throttles, for how long, and how to lower in steps that throttle nobody for long."""
