"""JSON and TOML that others wrote."""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import pytest

from kadmin_nb.documents import from_json, from_toml

DEEP = 200_000


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[" * DEEP, "Nested too deeply"),
        ('{"a":' * DEEP, "Nested too deeply"),
        ("1" * 6_000, "A number with too many digits"),
        ('{"a": 1, "a": 2}', "A name occurs twice in one object"),
        ('[{"b": {"a": 1, "a": 1}}]', "A name occurs twice in one object"),
        ("NaN", "NaN is not a JSON number"),
        ("[-Infinity]", "-Infinity is not a JSON number"),
        (r'"\ud800"', "Half a surrogate pair is not text"),
        (r'{"\uDC00": 1}', "Half a surrogate pair is not text"),
        ('{"a": 1,\n  oops}', r"\(at line 2, column 3\)"),
        ("", r"\(at line 1, column 1\)"),
    ],
    ids=range(11),
)
def test_json_that_means_nothing_or_two_things(text, told):
    """The file was read as its second half by one tool, and as its first by the other."""
    with pytest.raises(ValueError, match=told) as raised:
        from_json(text)
    assert len(str(raised.value)) < 200


def test_json_as_it_is():
    assert from_json(r'{"a": [1, 2.5, null, true, "\ud83e\udd86", "ü"]}') == {"a": [1, 2.5, None, True, "🦆", "ü"]}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a = " + "[" * DEEP, "Nested too deeply"),
        ("a = " + "1" * 6_000, "A number with too many digits"),
        ("a." * 50_000 + "a = 1", r"More than 16 dots in a key \(at line 1, column 1\)"),
        ("\n[" + '"a" . ' * 17 + "b]", r"More than 16 dots in a key \(at line 2, column 1\)"),
        ('t = {x = """\n""", ' + "a." * 17 + 'b = 1} #"', r"More than 16 dots in a key \(at line 2, column 1\)"),
        ("a = 1\na = 2\n", r"\(at line 2, column 6\)"),
    ],
    ids=range(6),
)
def test_toml_that_is_none_of_ours(text, told):
    with pytest.raises(ValueError, match=told) as raised:
        from_toml(text)
    assert len(str(raised.value)) < 200


def test_toml_with_many_dots_in_its_texts():
    """Twenty brokers in a line were too many dots."""
    brokers = [f"broker-{n}.example.com:9092" for n in range(20)]
    text = f"""bootstrap = {brokers}  # {"." * 50}\nquoted = "{"." * 50}\\\\" # "\n"{"." * 50}" = '{"." * 50}'"""
    assert from_toml(text) == {"bootstrap": brokers, "quoted": "." * 50 + "\\", "." * 50: "." * 50}


@pytest.mark.parametrize("text", ["'a.' * 50_000 + 'a = 1'", "r'\"\\\"' * 300_000", "'.' * 1_000_000"])
def test_a_small_file_takes_no_large_memory(text):
    """A TOML file of 100 kB took 9.8 GB."""
    program = f"from kadmin_nb.documents import from_toml\ntry: from_toml({text})\nexcept ValueError as e: print(e)"
    began = time.monotonic()

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, preexec_fn=bound, check=True)
    assert "at line 1" in done.stdout
    assert time.monotonic() - began < 60
