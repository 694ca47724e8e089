"""`{…}` in a line: the caller's own names, in every word and every option's value."""

from __future__ import annotations

import gc
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

import kadmin_nb as kn

pytestmark = pytest.mark.broker


LOG = Path(__file__).parents[1] / "analytics" / "recorded" / "broker-1"


def staged(live) -> list[str]:
    """The entities of the changes in the stage; they are discarded."""
    entities = [str(change.resource) for change in live("%kquota plan").changes]
    live("%kquota discard")
    return entities


SET = "%kquota set producer_byte_rate=1MB/s"
RUN = "get_ipython().run_line_magic('kquota', 'set producer_byte_rate=1MB/s user={u}')"
IN_CELL = "get_ipython().run_cell_magic('kquota', '', 'set producer_byte_rate=1MB/s user={u}')"


@pytest.mark.parametrize(
    "code",
    [
        f"def f(u):\n    {SET} user={{u}}\nf('alice')",
        f"def f(u):\n    {IN_CELL}\nf('alice')",
        f"class A:\n    def f(self, u):\n        {SET} user={{u}}\nA().f('alice')",
        f"class A:\n    def f(self):\n        {SET} user={{self.u}}\na = A()\na.u = 'alice'\na.f()",
        f"[{RUN} for u in ['alice']];",
        f"list({RUN} for u in ['alice']);",
        f"f = lambda u: {RUN}\nf('alice')",
        f"def f(name):\n    return [{RUN} for u in [name]]\nf('alice')",
        f"def f(v):\n    [{RUN.replace('{u}', '{v}')} for _ in [1]]\nf('alice')",
        f"def f(u):\n    def g():\n        u\n        {SET} user={{u}}\n    g()\nf('alice')",
        f"def f(u):\n    def g(u):\n        {SET} user={{u}}\n    g(u)\nf('alice')",
        f"async def f(u):\n    {SET} user={{u}}\nawait f('alice')",
        f"def f(p):\n    {SET} user={{''.join(p + x for x in ['ice'])}}\np = 'x'\nf('al')",
        f"def f(u):\n    %time {SET} user={{u}}\nf('alice')",
        f"for u in ['alice']:\n    {SET} user={{u}}",
        f"%%time\nu = 'alice'\n{SET} user={{u}}",
    ],
)
def test_the_callers_own_name_is_meant(live, code):
    """The function's argument was alice; the change was staged for bob, the global."""
    live["u"], live["v"] = "bob", "bob"
    live(code)
    assert staged(live) == ["user=alice"]


def test_a_global_is_a_name_of_a_function_that_has_no_own(live):
    """A constant of my notebook was unknown within a function."""
    live("WHO = 'alice'\ndef f():\n    %kquota set producer_byte_rate=1MB/s user={WHO}\nf()")
    assert staged(live) == ["user=alice"]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (
            f"def f(u):\n    def g():\n        {SET} user={{u}}\n    g()\nf('alice')",
            "no such variable: u",
        ),
        (f"def f(u):\n    return lambda: {RUN}\nf('alice')()", "no such variable: u"),
        (f"def f():\n    {SET} user={{u}}\n    u = 'alice'\nf()", "u has no value yet in f"),
        ("def f(who):\n    %kquota describe user={whom}\nf('a')", "no such variable: whom"),
    ],
)
def test_what_the_caller_does_not_see_is_refused(live, code, says):
    """A closure's variable was not seen, and the global of that name was limited instead."""
    live["u"] = "bob"
    assert says in str(live.refused(code, kn.UsageError))
    assert "nothing is staged" in str(live.refused("%kquota plan"))


def test_a_function_of_a_module_has_its_own_names(live):
    """My helper's module had a variable u, and the notebook's was taken."""
    module = ModuleType("helpers_of_mine")
    exec(f"from IPython import get_ipython\nu = 'alice'\ndef f(): return {RUN}", module.__dict__)
    live["f"], live["u"] = module.f, "bob"
    live("f()")
    assert staged(live) == ["user=alice"]


def test_names_of_a_mapping_need_no_quotes_around_the_word(live):
    """{d['name']} staged the user that the variable `name` holds."""
    live["d"], live["name"] = {"name": "alice", "bob": "carol"}, "bob"
    live("%kquota set producer_byte_rate=1MB/s user={d['name']}")
    live("%%kquota\nset producer_byte_rate=1MB/s user={d['name']} client-id={d['bob'].rjust(7)}")
    assert staged(live) == ["user=alice", "user=alice client-id='  carol'"]


def test_every_option_takes_a_variable(live, kafka, cluster, tmp_path):
    """The reason of my plan was {why}, and --cluster {c} was not a file."""
    live["why"], live["c"], live["f"], live["keys"] = (
        "the fair",
        kafka.bootstrap,
        tmp_path / "p.json",
        "producer_byte_rate",
    )
    live["who"], live["cl"], live["many"] = "alice", cluster, ["producer_byte_rate", "consumer_byte_rate"]
    live("%kquota set producer_byte_rate=1MB/s user={who}")
    assert live("%kquota plan --reason {why} --save {f}").reason == "the fair"
    assert live("%kquota plan --reason '{why} of {repr(who)}'").reason == "the fair of 'alice'"
    live("%kquota discard")
    assert live("%kplan show {f}").reason == "the fair"
    for words in ("--keys {keys}", "--keys={many}", "--cluster {c}", "--cluster {cl}", "--out answer --as {'arrow'}"):
        live(f"%kquota describe user=nobody {words}")
    assert live["answer"].num_rows == 0
    declared = tmp_path / "wished.yaml"
    live["declared"] = declared
    live("%kadmin export --kinds quotas --out {declared}")
    assert live("%kplan from {declared}").changes == ()


def test_usage_is_read_from_a_path_in_a_variable(live):
    """%kquota usage {path} said that there is no such path: {path}."""
    live["path"], live["broker"], live["tz"] = LOG, 1, "UTC"
    variables = live("%kquota usage {path} --broker {broker} --tz {tz}")
    assert len(variables) > 0
    assert variables.equals(live(f"%kquota usage {LOG} --broker 1 --tz UTC"))


def test_the_text_of_a_variable_is_never_an_option_or_code(live, tmp_path):
    """A client called --apply applied the plan."""
    live["x"], live["code"] = "--apply", "__import__('os').getcwd()"
    live("%kquota set producer_byte_rate=1MB/s user={x}")
    assert staged(live) == ["user=--apply"]
    assert "no such plan file: --apply" in str(live.refused("%kplan show {x}"))
    assert "neither a frame nor a" in str(live.refused("%kquota resolve --pairs {code}"))
    assert "right of =" in str(live.refused("%kquota set {x} user=a"))
    assert "unknown command '{x}'" in str(live.refused("%kquota {x}"))
    live["dash"] = "-"
    assert "-" in str(live.refused("%kplan -f {dash}", kn.NotFound))
    assert "-" in str(live.refused("%kplan from {dash}", kn.NotFound))
    lines = tmp_path / "lines.txt"
    lines.write_text("set producer_byte_rate=1 user=a\nset producer_byte_rate=1 user={code}\n")
    assert "line 2: user={…} is not expanded here" in str(live.refused(f"%kplan -f {lines}"))


def test_a_frame_may_be_named_or_expanded(live, tmp_path):
    """--pairs {df} was a file that does not exist."""
    live["df"] = pd.DataFrame({"user": ["alice"], "client_id": ["app"]})
    live["place"] = tmp_path / "pairs.csv"
    live("df.to_csv(place, index=False)")
    for words in ("df", "{df}", "{place}", "{place.parent}/pairs.csv"):
        assert [*live(f"%kquota resolve --pairs {words} --keys producer_byte_rate")["user"]] == ["alice"]
    live("def f(df):\n    return get_ipython().run_line_magic('kquota', 'resolve --pairs df -k producer_byte_rate')")
    assert [*live("f(df.assign(user='bob'))")["user"]] == ["bob"]


def test_what_is_no_cluster_is_one_line(live):
    """--cluster {df} gave forty lines of click and pandas."""
    live["df"] = pd.DataFrame({"user": ["alice"]})
    assert str(live.refused("%kquota describe --cluster {df}")) == "a DataFrame is neither a text nor a Cluster"
    assert str(live.refused("%kadmin use {df}")) == "a DataFrame is neither a text nor a Cluster"
    assert str(live.refused("%kquota plan --reason {df}")) == "{df} is a DataFrame, where a text is needed"


def test_a_dollar_name_is_the_name_itself(live):
    """%kquota set … user=$name staged a client that is called $name."""
    live["name"] = "team-orders"
    error = live.refused(f"{SET} user=$name")
    assert str(error) == "$name is the name itself; write {name}"
    assert error.hint == "If these characters are meant: user==$name"
    assert live.refused("%kquota plan --reason $name").hint == "If these characters are meant: {'$name'}"
    assert "line 1: $name is the name itself" in str(live.refused("%%kquota\nset producer_byte_rate=1 user=$name"))
    live(f"{SET} user=$ConnectionString")
    live(f"{SET} user==$name")
    assert staged(live) == ["user=$ConnectionString", "user=$name"]


def test_a_cell_names_the_line_of_a_variable_that_is_not_known(live):
    """Twenty lines, and one of them had a variable that I had misspelt."""
    live["who"] = "alice"
    cell = "%%kquota --reason {who}\nset producer_byte_rate=1 user={who}\nset producer_byte_rate=1 user={whp}"
    error = live.refused(cell)
    assert str(error) == "line 2: no such variable: whp"
    assert "who" in error.hint
    assert "nothing is staged" in str(live.refused("%kquota plan"))


def test_braces_that_are_characters(live):
    """A client called {x} could not be named in a notebook."""
    live(f"{SET} user=={{x}}")
    live(f"{SET} 'user={{{{a}}}} b'")
    assert staged(live) == ["user=={x}", "user=='{a} b'"]
    live(f"{SET} user=a")
    assert live("%kquota plan --reason 'from {{x}}'").reason == "from {x}"
    live("%kquota discard")


def test_an_f_string_of_a_program_is_a_line(live):
    """I build my lines with f-strings."""
    live(
        "for n in range(2):\n"
        "    get_ipython().run_line_magic('kquota', f'set producer_byte_rate={n + 1}MB/s user=u{n}')"
    )
    assert staged(live) == ["user=u0", "user=u1"]


FUNCTION = """
def f():
    import weakref
    big = Large()
    %kquota describe user=nobody
    return weakref.ref(big)
r = f()
r
"""


def test_nothing_of_a_caller_is_kept(live):
    """A frame of 2 GB stayed in memory after a function that used a magic."""
    live["Large"] = type("Large", (), {})
    reference = live(FUNCTION)
    gc.collect()
    assert reference() is None


def test_a_pattern_of_a_change_is_typed_and_never_a_variables_text(live, name):
    """The name in my variable had a star in it, and the line changed everybody."""
    stem = name("team")
    live("%kquota discard")
    live(f"%%kquota --apply\nset producer_byte_rate=1MB/s user={stem}-a\nset producer_byte_rate=1MB/s user={stem}-b")
    live.shell.user_ns |= {"stem": stem, "star": f"{stem}-*"}
    live("%kquota set producer_byte_rate=2MB/s user~={stem}-*")
    assert staged(live) == [f"user={stem}-a", f"user={stem}-b"]
    live("%%kquota\nremove producer_byte_rate user~={stem}-*")
    assert staged(live) == [f"user={stem}-a", f"user={stem}-b"]
    live("%kquota set producer_byte_rate=2MB/s user={star}")
    assert staged(live) == [f"user={stem}-*"]
