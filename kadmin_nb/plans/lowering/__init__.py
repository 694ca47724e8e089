"""Whom a lower limit mutes and for how long, and how to lower in steps that mute nobody for long."""
