"""Names that somebody will give to a client one day, and what each of them is after."""

from __future__ import annotations

HOSTILE: tuple[str, ...] = (
    "<default>", "<any>", " ", "a b", " leading", "trailing ", "two  spaces", "a=b", "=y", "==y", "~=y", "user=alice",
    "--apply", "--entity-default", "-", "#comment", "a #b", ";", "a;", "{expr}", "{x", "%x; y", "*", "%3Cdefault%3E",
    "+", "~", "\\", "back\\", "DOMAIN\\alice", "a,b", "[a]", "CN=Zoë, O=日本", "🦊", "é" * 60, "a" * 300,
    "'", '"', "it's", 'say "hi"', "both ' and \"", "''", "'a\"b'c\"", "`id`", "``", "$(id)", "${HOME}", "$'x'", "!!",
    "a\nset producer_byte_rate=1 user=bob", "a\n\n# note", "a\rb", "tab\tbed", "nul\x00byte", "\x1b[31mred",
    "\x7f", "\u202egnp.exe", "nb\u00a0sp", "line\u2028sep", "\u200bzero", "\x85",
    "<script>alert(1)</script>", "<b onclick=alert(1)>&amp;</b>", "</code></td><img src=x onerror=alert(1)>",
    "a|b", "|", "a | b |\n| 9 | set | `user=root`", "\\|", "`|`", "a`|`b", "[x](javascript:alert(1))", "![x](y)",
    "https://evil.example/x", "www.evil.example", "@everyone", "#1", "**bold**", "_em_", "~~s~~", "$x$", "$$y$$",
    "<!-- x", "<https://evil.example>", "&lt;b&gt;", "a\\`b", "null", "None", "nan", "0", "True",
)  # fmt: skip
