"""The home folder, which has a person's name in it and is nobody's business in what is handed on."""

from __future__ import annotations

import json
import re

from .. import files


def without(text: str) -> str:
    """The JSON text with `~` in place of the home folder, also by the name behind its links."""
    home = files.home()
    for name in {str(home), str(home.resolve())} if home else ():
        if len(name) > 1:
            text = re.sub(rf"{re.escape(json.dumps(name)[1:-1])}(?![\w.-])", "~", text)
    return text
