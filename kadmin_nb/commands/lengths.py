"""Lengths of time as a person writes them."""

from __future__ import annotations

import re
from typing import Any

import click

_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h)?")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}


class Length(click.ParamType):  # type: ignore[type-arg]  # generic only in newer clicks
    """A length of time such as `60s` or `5m`, in seconds."""

    name = "length"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        match = _LENGTH.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"{value} is not a duration: 60s, 5m", param, ctx)
        return float(match[1]) * _SECONDS[match[2]]
