"""Completion in bash, which cuts a word at each `=` and `:` and replaces the last piece alone, in zsh, and in fish.

click's own scripts take names apart: bash's at backslashes and patterns of files, fish's at commas; zsh's puts a space
after `key=`.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable

from click.shell_completion import BashComplete, CompletionItem, FishComplete, ZshComplete, add_completion_class

_BREAKS = "=:"
"""The characters of `$COMP_WORDBREAKS` that our words contain."""


_BASH_SCRIPT = """\
%(complete_func)s() {
    local candidate
    COMPREPLY=()
    while IFS= read -r candidate; do
        [[ -n $candidate ]] && COMPREPLY+=("$candidate")
    done < <(COMP_WORDS="$(IFS=$'\\n'; echo "${COMP_WORDS[*]}")" COMP_CWORD=$COMP_CWORD \\
        %(complete_var)s=bash_complete "$1" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} == 1 && $COMPREPLY == *= ]]; then compopt -o nospace; fi
}
complete -o nosort -o bashdefault -F %(complete_func)s %(prog_name)s
"""

_ZSH_SCRIPT = """\
%(complete_func)s() {
    local -a candidates unfinished
    candidates=("${(@f)$(COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT - 1)) \\
        %(complete_var)s=zsh_complete %(prog_name)s 2>/dev/null)}")
    unfinished=(${(M)candidates:#*=})
    candidates=(${candidates:#*=})
    (( $#unfinished )) && compadd -U -S '' -V unsorted -a unfinished
    (( $#candidates )) && compadd -U -V unsorted -a candidates
}
compdef %(complete_func)s %(prog_name)s
"""

_FISH_SCRIPT = """\
function %(complete_func)s
    env %(complete_var)s=fish_complete COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -t) \\
        %(prog_name)s 2>/dev/null
end
complete --no-files --command %(prog_name)s --arguments "(%(complete_func)s)"
"""


class Fish(FishComplete):
    """click's completion of fish, a candidate a line; fish quotes it."""

    source_template = _FISH_SCRIPT

    def format_completion(self, item: CompletionItem) -> str:
        return str(item.value)


class Zsh(ZshComplete):
    """click's completion of zsh, a candidate a line; zsh quotes it, and nothing follows a sign."""

    source_template = _ZSH_SCRIPT

    def format_completion(self, item: CompletionItem) -> str:
        return str(item.value)


class Bash(BashComplete):
    """click's completion of bash, on the words as they were typed."""

    source_template = _BASH_SCRIPT

    def get_completion_args(self) -> tuple[list[str], str]:
        pieces = os.environ["COMP_WORDS"].split("\n")[: int(os.environ["COMP_CWORD"]) + 1]
        _, *args, incomplete = glued(pieces)
        self._replaced = re.sub(rf"[^{_BREAKS}]*$", "", incomplete)
        return args, incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """The candidate, less what bash does not replace, as the shell reads it."""
        return shlex.quote(item.value.removeprefix(self._replaced))


def glued(pieces: Iterable[str]) -> list[str]:
    """Words out of the pieces that bash makes of them.

    Examples
    --------
    >>> glued(["quota", "describe", "user", "=", "al"])
    ['quota', 'describe', 'user=al']
    """
    words: list[str] = []
    for piece in pieces:
        if words and (_is_break(piece) or _is_break(words[-1][-1:])):
            words[-1] += piece
        else:
            words.append(piece)
    return words


def _is_break(text: str) -> bool:
    return bool(text) and set(text) <= {*_BREAKS}


def register() -> None:
    """Let click complete by them."""
    for shell in (Bash, Fish, Zsh):
        add_completion_class(shell)
