import gc
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from kernel_folder import PYTHON_VERSION, TOML, write_kernel

from ncu_assist.errors import UsageProblem
from ncu_assist.project import Project, find_project
from ncu_assist.sources import discover_versions, header_comment, source_files, source_sha256
from ncu_assist.spec import Kernel, python_tree, why_skipped
from ncu_assist.spec_file import kernel_names, load_kernel, read_kernel


def kernel(tmp_path: Path, **changes: str) -> Kernel:
    text = TOML
    for old, new in changes.items():
        text = text.replace(old, new)
    return read_kernel(write_kernel(tmp_path, toml=text))


def test_versions_are_discovered_and_sorted_as_numbers(tmp_path: Path) -> None:
    files = dict.fromkeys(("v10_ten.py", "v9_nine.py", "v2_two.cu", "notes.py", "v3.py"), PYTHON_VERSION)
    versions = read_kernel(write_kernel(tmp_path, files)).versions
    assert [v.name for v in versions] == ["v2_two", "v9_nine", "v10_ten"]


def test_python_is_read_by_threads_side_by_side_though_garbage_is_collected() -> None:
    """Python 3.11 said SystemError to one reading in 30 of these."""
    code = "\n".join(f"def f{i}(x):\n    return {'(' * 20}x + {i}{')' * 20}" for i in range(50))
    before, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.callbacks.append(lets_others_run)
    gc.set_threshold(50)
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            trees = list(pool.map(python_tree, [code] * 400))
    finally:
        gc.callbacks.remove(lets_others_run)
        gc.set_threshold(*before)
        sys.setswitchinterval(interval)
    assert {len(tree.body) for tree in trees} == {50}


def lets_others_run(phase: str, info: dict[str, int]) -> None:
    """What a collector's callback does: it runs Python, between whose steps threads change."""


def test_expressions_of_a_workload(tmp_path: Path) -> None:
    k = kernel(tmp_path)
    odd = k.select_workloads("odd")[0]
    assert (k.algorithmic_bytes(odd), k.flops(odd), k.shape(k.outputs[0], odd)) == (8000, 1000, (1000,))


def test_what_does_the_operations_is_said_or_follows_from_the_type(tmp_path: Path) -> None:
    plain = kernel(tmp_path)
    assert plain.work(plain.default_workload) == {"fma": plain.flops(plain.default_workload)}
    halves = kernel(tmp_path, **{'"float32"': '"float16"', "[tolerance.float32]": "[tolerance.float16]"})
    assert set(halves.work(halves.default_workload)) == {"tensor"}
    told = kernel(tmp_path, **{'flops = "n"': 'flops = "n"\nmath = "int"\n\n[work]\nxu = "2 * n"\nint = "n"\n'})
    odd = told.select_workloads("odd")[0]
    assert told.work(odd) == {"int": 2000, "xu": 2000}


def test_selection(tmp_path: Path) -> None:
    k = kernel(tmp_path)
    assert [w.name for w in k.select_workloads(None)] == ["small"]
    assert [w.name for w in k.select_workloads("all")] == ["small", "odd"]
    assert k.version("v0") == k.version("v0_torch") == k.select_versions(())[0]


def test_a_version_says_which_dtypes_it_serves(tmp_path: Path) -> None:
    k = read_kernel(write_kernel(tmp_path, {"v1_half.cu": "// idea\n// dtypes: float16, bfloat16\n"}))
    assert k.versions[0].dtypes == ("float16", "bfloat16")
    assert not k.versions[0].serves(k.default_workload)


TWO = {"v0_torch.py": PYTHON_VERSION, "v9_block.py": PYTHON_VERSION}
ODD = 'n = 1000\ndtype = "float32"\n'


def test_a_workload_may_be_for_some_versions_only(tmp_path: Path) -> None:
    for names in ('["v9"]', '["v9_block"]', '["v9", "v9_block"]'):
        write_kernel(tmp_path, TWO, TOML.replace(ODD, f"{ODD}versions = {names}\n"))
        k = load_kernel(Project(tmp_path), "add_one")
        small, odd = k.workloads
        assert [v.serves(small) for v in k.versions] == [True, True]
        assert [v.serves(odd) for v in k.versions] == [False, True]
        assert odd.integers == {"n": 1000}


def test_a_folder_with_some_of_the_versions_can_be_read(tmp_path: Path) -> None:
    """That of a draft's proof has its parent and the draft, and the whole kernel.toml."""
    k = read_kernel(write_kernel(tmp_path, toml=TOML.replace(ODD, f'{ODD}versions = ["v9"]\n')))
    assert not k.versions[0].serves(k.workloads[1])


@pytest.mark.parametrize(
    ("versions", "words", "hint"),
    [
        ('["v8"]', r"add_one/kernel.toml: workload 'odd' names 'v8', which is not a version", "known: v0, v9"),
        ('["v9", "v9"]', "list of different names", ""),
        ("[9]", "list of different names", ""),
        ("[]", "must be a list of versions", r'e.g. versions = \["v9"\]'),
        ('"v9"', "must be a list of versions", ""),
        ('["v9"]\ndefault = true', "is the default workload", ""),
    ],
)
def test_wrong_versions_of_a_workload_are_a_usage_error(tmp_path: Path, versions: str, words: str, hint: str) -> None:
    toml = TOML.replace("default = true", "") if "default" in versions else TOML
    write_kernel(tmp_path, TWO, toml.replace(ODD, f"{ODD}versions = {versions}\n"))
    with pytest.raises(UsageProblem, match=words) as caught:
        load_kernel(Project(tmp_path), "add_one")
    assert re.search(hint, f"{caught.value.message}\n{caught.value.hint}")


def test_a_workload_for_a_version_that_does_not_serve_its_dtype(tmp_path: Path) -> None:
    half = "# dtypes: float16\n" + PYTHON_VERSION
    write_kernel(tmp_path, {**TWO, "v9_block.py": half}, TOML.replace(ODD, f'{ODD}versions = ["v9"]\n'))
    with pytest.raises(UsageProblem, match="names 'v9', which does not support float32"):
        load_kernel(Project(tmp_path), "add_one")


def test_a_dtype_that_there_is_not_is_no_reason_to_leave_a_version_out(tmp_path: Path) -> None:
    write_kernel(tmp_path, {**TWO, "v9_block.py": "# dtypes: float32, fp16\n" + PYTHON_VERSION})
    with pytest.raises(UsageProblem, match=r"v9_block.py lists the unknown dtype 'fp16'") as caught:
        load_kernel(Project(tmp_path), "add_one")
    assert "float16" in caught.value.hint


def test_the_source_hash_covers_included_files(tmp_path: Path) -> None:
    folder = write_kernel(tmp_path, {"v1_a.cu": '#include "tile.h"\n'})
    (folder / "tile.h").write_text("int tile = 1;")
    before = source_sha256(folder / "v1_a.cu")
    (folder / "tile.h").write_text("int tile = 2;")
    assert [f.name for f in source_files(folder / "v1_a.cu")] == ["v1_a.cu", "tile.h"]
    assert source_sha256(folder / "v1_a.cu") != before


def test_the_source_hash_covers_what_python_imports_from_beside_it(tmp_path: Path) -> None:
    code = "import os, near\nfrom far.deep import x\nfrom torch import nn\n"
    folder = write_kernel(tmp_path, {"v1_a.py": code + PYTHON_VERSION})
    alone = source_sha256(folder / "v1_a.py")
    (folder / "near.py").write_text("import v1_a, further\n")
    (folder / "further.py").write_text("x = 1\n")
    assert [f.name for f in source_files(folder / "v1_a.py")] == ["v1_a.py", "further.py", "near.py"]
    before = source_sha256(folder / "v1_a.py")
    (folder / "further.py").write_text("x = 2\n")
    assert len({alone, before, source_sha256(folder / "v1_a.py")}) == 3


def test_inputs_in_memory_of_the_host(tmp_path: Path) -> None:
    assert kernel(tmp_path).host_inputs == ()
    assert kernel(tmp_path).host_bytes(kernel(tmp_path).default_workload) is None
    k = kernel(tmp_path, **{"[outputs]": '[host]\ninputs = ["x"]\nbytes = "4 * n"\n\n[outputs]'})
    assert k.host_inputs == ("x",)
    assert k.host_bytes(k.default_workload) == 4096


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('[hots]\ninputs = ["x"]\nbytes = "n"', "unknown key 'hots'"),
        ('[host]\ninput = ["x"]\nbytes = "n"', "unknown key 'input'"),
        ('[host]\ninputs = ["x"]', "lacks the key 'bytes'"),
        ('[host]\ninputs = "x"\nbytes = "n"', "'inputs' must be a list"),
        ('[host]\ninputs = ["z"]\nbytes = "n"', "names 'z', which is not an input"),
        ('[host]\ninputs = ["y"]\nbytes = "n"', "names 'y', which is not an input"),
        ('[host]\ninputs = ["x", "x"]\nbytes = "n"', "list of different names"),
        ('[host]\ninputs = []\nbytes = "n"', "names no input"),
        ('[host]\ninputs = ["x"]\nbytes = "m"', "names 'm'"),
    ],
)
def test_a_wrong_table_of_host_inputs_is_a_usage_error(tmp_path: Path, table: str, words: str) -> None:
    with pytest.raises(UsageProblem, match=words):
        kernel(tmp_path, **{"[outputs]": f"{table}\n\n[outputs]"})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"summary =": "sumary ="}, "unknown key 'sumary'"),
        ({'flops = "n"\n': ""}, "lacks the key 'flops'"),
        ({'flops = "n"': 'flops = "n"\nmath = "fmaa"'}, "'math': there is no unit 'fmaa'"),
        ({'flops = "n"': 'flops = "n"\n[work]\nxu = 2'}, r"\[work\]: 'xu' must be a str, not 2"),
        ({'"8 * n"': '"8 * m"'}, "names 'm'"),
        ({'["x", "y", "n"]': '["x", "z", "n"]'}, "argument 'z'"),
        ({"n = 1024": 'n = "many"'}, "must be a whole number"),
        ({"default = true": "default = false"}, "exactly one workload"),
        ({"[tolerance.float32]": "[tolerance.float16]"}, r"no \[tolerance.float32\]"),
        ({'y = { dtype = "float32"': 'y = { dtype = "float31"'}, "unknown dtype 'float31'"),
        ({"summary": "[summary"}, "not valid TOML"),
        ({"norm = 1e-6": "norm = 'low'"}, "must be a float"),
        ({'dtype = "float32"\ndefault': "default"}, "lacks the key 'dtype'"),
    ],
)
def test_a_wrong_kernel_toml_is_a_usage_error(tmp_path: Path, changes: dict[str, str], words: str) -> None:
    with pytest.raises(UsageProblem, match=words):
        kernel(tmp_path, **changes)


SMALL = 'n = 1024\ndtype = "float32"\ndefault = true\n'
BIG = str(2**63)


@pytest.mark.parametrize(
    ("changes", "words", "hint"),
    [
        ({"norm = 1e-6": "norm = -1"}, "'norm' must be 0 or more and finite, not -1", "write norm = 1e-6"),
        ({"rtol = 1e-6": "rtol = nan"}, "'rtol' must be 0 or more and finite, not nan", "write rtol = 1e-6"),
        ({"atol = 1e-6": "atol = inf"}, "'atol' must be 0 or more", "write atol = 1e-6"),
        ({"atol = 1e-6": f"atol = {10**400}"}, "'atol' must be 0 or more", "write atol = 1e-6"),
        ({"atol = 1e-6": "atol = true"}, "'atol' must be a float, not True", "write atol = 1e-6"),
        (
            {'"8 * n"': '"0 * n"'},
            "'bytes', '0 . n', comes to 0 on workload 'small' and 0 on workload 'odd'",
            "each input read",
        ),
        ({'"8 * n"': '"n - 1010"'}, "'bytes', 'n - 1010', comes to -10 on workload 'odd'", "each input read"),
        ({'"8 * n"': '"9223372036854775807 * n"'}, "the maximum is 9223372036854775807", "each input read"),
        ({'flops = "n"': 'flops = "0 - n"'}, "'flops', '0 - n', comes to -1024", "operations"),
        (
            {'shape = ["n"]': 'shape = ["n - 1000"]'},
            "a size of output 'y', 'n - 1000', comes to 0 on workload 'odd'",
            "1 or more",
        ),
        ({"n = 1024": f"n = {BIG}"}, f"'n' does not fit in 64 bits: {BIG}", f"write {2**63 - 1} at most"),
        ({"n = 1024": f"n = {'9' * 5000}"}, "not valid TOML", "key = value"),
        ({"[workloads.odd]": "[workloads.all]"}, "no workload can be called 'all'", "another name"),
        ({'inputs = ["x"]': 'inputs = ["x", "w"]'}, "input 'w' is not in 'arguments'", "add 'w' to 'arguments'"),
        ({'["x", "y", "n"]': '["x", "n"]'}, "output 'y' is not in 'arguments'", "add 'y' to 'arguments'"),
        ({"y = {": "x = {", '["x", "y", "n"]': '["x", "n"]'}, "'x' is an input and an output", "another name"),
        ({'y = { dtype = "float32", shape = ["n"] }': ""}, "there is no output", "write below"),
        (
            {"default = true": "", 'dtype = "float32"\n': 'dtype = "float32"\ndefault = true\n'},
            "and 2 do: small, odd",
            "keep it for one of them",
        ),
        ({'"8 * n"': f'"{"(" * 5000}"'}, "is not an expression", "integers, names"),
        ({'"8 * n"': f'"{" + ".join("1" * 5000)}"'}, "'bytes'", "expression|integers"),
    ],
)
def test_a_mistake_in_kernel_toml_says_what_to_write(
    tmp_path: Path, changes: dict[str, str], words: str, hint: str
) -> None:
    with pytest.raises(UsageProblem, match=words) as caught:
        kernel(tmp_path, **changes)
    assert re.search(hint, caught.value.hint)


@pytest.mark.parametrize("name", ["my-kernel", "2d", "ü", "while", "double", "lambda", "main", "a b"])
def test_a_folder_is_called_like_the_function_that_versions_define(tmp_path: Path, name: str) -> None:
    folder = write_kernel(tmp_path)
    folder = folder.rename(folder.with_name(name))
    with pytest.raises(UsageProblem, match="the folder's name cannot be a function name") as caught:
        read_kernel(folder)
    subprocess.run(shlex.split(caught.value.hint), check=True)
    (renamed,) = folder.parent.iterdir()
    assert read_kernel(renamed).name == renamed.name


def test_all_mistakes_of_a_folder_are_told_at_once(tmp_path: Path) -> None:
    toml = TOML
    for old, new in {
        'summary = "adds one"': "sumary = 1",
        'flops = "n"': 'flops = "m"',
        '["x", "y", "n"]': '["x", "z", "n"]',
        "norm = 1e-6": "norm = -1",
        "atol = 1e-6": 'atol = "low"',
        SMALL: SMALL.replace("1024", "1.5"),
        "[workloads.odd]": '[workloads.odd]\nversions = ["v7"]',
    }.items():
        assert old in toml
        toml = toml.replace(old, new)
    write_kernel(tmp_path, {"v0_a.py": "# packages: liger-kernel\n", "v1_b.py": "", "v1_c.py": ""}, toml)
    (tmp_path / "kernels/add_one/v2_d.cu").mkdir()
    (tmp_path / "kernels/add_one/reference.py").unlink()
    with pytest.raises(UsageProblem) as caught:
        load_kernel(Project(tmp_path), "add_one")
    first, *told = caught.value.message.splitlines()
    assert first == f"add_one has {len(told)} mistakes:"
    for words in (
        "unknown key 'sumary'; try: did you mean 'summary'?",
        "an expression names 'm'; known: n",
        "'norm' must be 0 or more",
        "'atol' must be a float, not 'low'; try: write atol = 1e-6",
        "workload 'small': 'n' must be a whole number, not 1.5; try: write n = 1024",
        "names the package 'liger-kernel'",
        "v1_b.py and v1_c.py have the same number 1",
        "v2_d.cu cannot be read",
        "reference.py is missing; try: write make_inputs()",
        "argument 'z' is not an input, output or integer of workload 'small'",
        "output 'y' is not in 'arguments'",
    ):
        assert sum(words in line for line in told) == 1, words
    assert all("; try: " in line for line in told)
    # Arguments are held against the integers that the workloads name, wrong workloads too.
    assert len(told) == 11


def test_what_is_wrong_with_a_workload_hides_nothing_else(tmp_path: Path) -> None:
    toml = TOML
    for old, new in {
        SMALL: SMALL.replace('"float32"', '"float23"'),
        ODD: f"{ODD}default = true\n",
        'bytes = "8 * n"': 'bytes = "0 * n"',
        '["x", "y", "n"]': '["y", "n", "zz"]',
    }.items():
        assert old in toml
        toml = toml.replace(old, new)
    write_kernel(tmp_path, TWO, toml)
    with pytest.raises(UsageProblem) as caught:
        load_kernel(Project(tmp_path), "add_one")
    first, *told = caught.value.message.splitlines()
    assert first == "add_one has 5 mistakes:"
    for words in (
        "unknown dtype 'float23'",
        "exactly one workload must say default = true, and 2 do",
        "'bytes', '0 * n', comes to 0 on workload 'small' and 0 on workload 'odd'",
        "argument 'zz' is not an input, output or integer of workload 'small'",
        "input 'x' is not in 'arguments'",
    ):
        assert sum(words in line for line in told) == 1, (words, told)


def test_two_files_with_one_number(tmp_path: Path) -> None:
    files = {"v1_a.py": PYTHON_VERSION, "v1_b.py": PYTHON_VERSION}
    with pytest.raises(UsageProblem, match=r"v1_a.py and v1_b.py have the same number 1"):
        read_kernel(write_kernel(tmp_path, files))


def test_a_missing_reference(tmp_path: Path) -> None:
    (write_kernel(tmp_path) / "reference.py").unlink()
    with pytest.raises(UsageProblem, match=r"reference.py is missing"):
        load_kernel(Project(tmp_path), "add_one")


@pytest.mark.parametrize(("name", "hint"), [("add_onne", "did you mean 'add_one'?"), ("zzzz", "known: add_one")])
def test_an_unknown_kernel(tmp_path: Path, name: str, hint: str) -> None:
    write_kernel(tmp_path)
    with pytest.raises(UsageProblem, match="there is no kernel") as caught:
        load_kernel(Project(tmp_path), name)
    assert caught.value.message.endswith(hint)
    assert caught.value.hint == "ncu-assist list"


def test_a_folder_without_kernel_toml_is_told_from_none(tmp_path: Path) -> None:
    (write_kernel(tmp_path) / "kernel.toml").unlink()
    with pytest.raises(UsageProblem, match=r"kernels/add_one has no kernel.toml"):
        load_kernel(Project(tmp_path), "add_one")


def test_unknown_version_and_workload(tmp_path: Path) -> None:
    k = kernel(tmp_path)
    with pytest.raises(UsageProblem, match="no version 'v7'"):
        k.version("v7")
    with pytest.raises(UsageProblem, match="no workload 'smal'") as caught:
        k.select_workloads("smal")
    assert caught.value.message.endswith("did you mean 'small'?")
    assert caught.value.hint == "ncu-assist list add_one"


def test_every_kernel_of_this_repository_is_right(repository: Path) -> None:
    project = find_project(repository)
    names = kernel_names(project)
    assert names
    for name in names:
        assert load_kernel(project, name).versions


def test_what_the_header_comment_says_does_not_change_the_source(tmp_path: Path) -> None:
    folder = write_kernel(
        tmp_path, {"v1_a.cu": "// idea\n// measured: TODO\n#include <x>\n", "v2_b.py": "# a\nimport x\n"}
    )
    cuda, python = folder / "v1_a.cu", folder / "v2_b.py"
    before = source_sha256(cuda), source_sha256(python)
    cuda.write_text("// idea\n// measured: 3 us\n//\n\n#include <x>\n")
    python.write_text("# a longer comment\n#\nimport x\n")
    assert (source_sha256(cuda), source_sha256(python)) == before
    cuda.write_text("// idea\n#include <y>\n")
    python.write_text("import y\n")
    assert source_sha256(cuda) != before[0]
    assert source_sha256(python) != before[1]


@pytest.mark.parametrize(
    ("code", "suffix", "said"),
    [
        ("// Changes: a\n//\n//   b\r\n#include <x>\n// later\n", ".cu", "Changes: a\n\n  b"),
        ("#!/usr/bin/python\n# Baseline.\nimport torch\n", ".py", "Baseline."),
        ("import torch\n# later\n", ".py", ""),
        ("# c++ knows no such comment\n", ".cu", ""),
        ("# anything\n", ".txt", ""),
    ],
)
def test_the_header_comment_without_its_signs(code: str, suffix: str, said: str) -> None:
    assert header_comment(code.encode(), suffix) == said


def test_a_file_of_blank_lines_is_read_soon(tmp_path: Path) -> None:
    folder = write_kernel(tmp_path, {"v0_blank.cu": " \n" * 500_000})
    assert discover_versions(folder)[0].dtypes == ()
    assert source_files(folder / "v0_blank.cu") == (folder / "v0_blank.cu",)


@pytest.mark.parametrize(
    ("code", "packages", "why"),
    [
        ("# packages: json\n", ("json",), ""),
        ("# Baseline.\n#   of packages: a\n", (), ""),
        ("# Baseline.\n# packages: not_there, json\n", ("not_there", "json"), "package not_there is not installed"),
        (
            "# packages: not_there  nor_here\n",
            ("not_there", "nor_here"),
            "packages not_there, nor_here are not installed",
        ),
        ("import json\n# packages: not_there\n", (), ""),
    ],
)
def test_packages_that_a_version_needs(tmp_path: Path, code: str, packages: tuple[str, ...], why: str) -> None:
    (version,) = discover_versions(write_kernel(tmp_path, {"v0_peer.py": code}))
    assert version.packages == packages
    assert why_skipped(version) == why


@pytest.mark.parametrize(
    ("code", "draws_own"),
    [
        ("# Baseline.\n# draws: its own\nimport torch\n", True),
        ("# Baseline.\n# draws: eight at a time\n", False),
        ("# Baseline. draws: its own\n", False),
        ("import torch\n# draws: its own\n", False),
    ],
)
def test_a_version_may_draw_by_itself(tmp_path: Path, code: str, draws_own: bool) -> None:
    (version,) = discover_versions(write_kernel(tmp_path, {"v0_dropout.py": code}))
    assert version.draws_own is draws_own


def test_a_number_is_an_input(tmp_path: Path) -> None:
    folder = write_kernel(tmp_path, {})
    toml = (folder / "kernel.toml").read_text()
    (folder / "kernel.toml").write_text(f'numbers = ["x"]\n{toml}')
    assert read_kernel(folder).numbers == ("x",)
    (folder / "kernel.toml").write_text(f'numbers = ["y"]\n{toml}')
    with pytest.raises(UsageProblem, match="'numbers' names 'y', which is not an input"):
        read_kernel(folder)


def test_a_package_is_named_as_in_an_import(tmp_path: Path) -> None:
    folder = write_kernel(tmp_path, {"v0_peer.py": "# packages: liger-kernel\n"})
    with pytest.raises(UsageProblem, match=r"v0_peer\.py names the package 'liger-kernel'"):
        discover_versions(folder)
