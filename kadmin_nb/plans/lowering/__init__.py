"""Whom a lower limit throttles and for how long, and how to lower in steps that throttle nobody for long."""
