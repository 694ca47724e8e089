"""`python -m kadmin_nb.local fetch [VERSION ...]`: have Kafka's jars before they are needed."""

from __future__ import annotations

import sys

from kadmin_nb.errors import KadminError
from kadmin_nb.local.jars import DEFAULT_VERSION, find_jars


def main(words: list[str]) -> int:
    if words[:1] != ["fetch"]:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        for version in words[1:] or [DEFAULT_VERSION]:
            find_jars(version, progress=_print_status)
    except KadminError as error:
        print(f"{type(error).__name__}: {error}" + (f"\nHint: {error.hint}" if error.hint else ""), file=sys.stderr)
        return 1
    finally:
        if _open_line:
            print(file=sys.stderr)
    return 0


_open_line: list[str] = []


def _print_status(text: str) -> None:
    """One line that rewrites itself on a terminal, a line a message elsewhere."""
    print(f"\r\x1b[K{text}" if sys.stderr.isatty() else text, end="" if sys.stderr.isatty() else "\n",
          file=sys.stderr, flush=True)  # fmt: skip
    _open_line[:] = [text] if sys.stderr.isatty() else []


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
