"""``ncu-assist list``."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from commandline import Run, change, deny_reading
from kernel_folder import PYTHON_VERSION, TOML, write_kernel

from ncu_assist.cli import COMMANDS
from ncu_assist.errors import StageFailed
from ncu_assist.store import Store, StoredRun, index, samples_parquet
from ncu_assist.store.reading import open_run


def test_kernels_versions_and_what_was_measured(run: Run, recorded: Path) -> None:
    answer = run("list")
    assert answer.code == 0
    assert "lightning_decode" in answer.out
    assert "b64_d96 (default)" in answer.out
    assert "recorded on NVIDIA H200" in answer.out
    assert answer.out.index("v9_streaming_hints") < answer.out.index("v10_row_groups")
    assert max(map(len, answer.out.splitlines())) <= 80


def test_json(run: Run, recorded: Path) -> None:
    answer = run("list", "lightning_decode", "--json").json
    assert answer["schema"] == "ncu-assist.list/1"
    kernel = answer["kernels"][0]
    assert kernel["default_workload"] == "b64_d96"
    v7 = next(v for v in kernel["versions"] if v["version"] == "v7_registers_128bit")
    assert v7["status"] == "measured"
    assert v7["run"]["source"] == "recorded"
    assert v7["median_ns"] == pytest.approx(74_000, rel=0.1)


def test_a_changed_source_is_not_measured(run: Run, recorded: Path) -> None:
    path = recorded / "kernels" / "lightning_decode" / "v7_registers_128bit.cu"
    path.write_text(path.read_text() + "\nint more;\n")
    versions = run("list", "lightning_decode", "--json").json["kernels"][0]["versions"]
    assert {v["version"]: v["status"] for v in versions}["v7_registers_128bit"] == "not measured"


def test_a_workload_that_is_for_some_versions_says_so(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_kernel(tmp_path, toml=TOML.replace("n = 1000\n", 'n = 1000\nversions = ["v0"]\n'))
    monkeypatch.chdir(tmp_path)
    assert "workloads: small (default), odd (v0 only)" in run("list").out
    assert run("list", "--json").json["kernels"][0]["only_for"] == {"odd": ["v0"]}


def test_an_unknown_version_of_a_workload_is_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_kernel(tmp_path, toml=TOML.replace("n = 1000\n", 'n = 1000\nversions = ["v7"]\n'))
    monkeypatch.chdir(tmp_path)
    for words in (["list", "add_one"], ["bench", "add_one"], ["history", "add_one"]):
        answer = run(*words)
        assert answer.code == 2
        assert "workload 'odd' names 'v7', which is not a version" in answer.err


def test_an_empty_folder(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = run("list")
    assert answer.code == 0
    assert "there are no kernels" in answer.out
    assert run("list", "--json").json["kernels"] == []


def test_an_unknown_kernel(run: Run, recorded: Path) -> None:
    answer = run("list", "lightning_decod")
    assert (answer.code, answer.out) == (2, "")
    assert "did you mean 'lightning_decode'?" in answer.err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("summary", "sumary", "did you mean 'summary'?"),
        ('flops = "n"\n', "", "lacks the key 'flops'"),
        ("[outputs]", "[outputs", "not valid TOML"),
    ],
)
def test_a_wrong_kernel_toml(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, words: str
) -> None:
    write_kernel(tmp_path, toml=TOML.replace(old, new, 1))
    monkeypatch.chdir(tmp_path)
    for words_of_command in (["list", "add_one"], ["check", "add_one"], ["profile", "add_one"]):
        answer = run(*words_of_command)
        assert answer.code == 2
        assert "add_one/kernel.toml" in answer.err
        assert words in answer.err


def test_two_versions_with_one_number(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_kernel(tmp_path, {"v1_a.py": PYTHON_VERSION, "v1_b.py": PYTHON_VERSION})
    monkeypatch.chdir(tmp_path)
    for words in (["list", "add_one"], ["bench", "add_one"], ["profile", "add_one"]):
        answer = run(*words)
        assert answer.code == 2
        assert "v1_a.py and v1_b.py have the same number 1" in answer.err
        assert "try: rename one of them" in answer.err


def test_a_kernel_that_cannot_be_read_does_not_hide_the_others(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_kernel(tmp_path)
    broken = tmp_path / "kernels" / "broken"
    broken.mkdir()
    (broken / "kernel.toml").write_text("[")
    monkeypatch.chdir(tmp_path)
    answer = run("list")
    assert answer.code == 0
    assert "v0_torch" in answer.out
    assert "cannot be read: broken has 2 mistakes: broken/kernel.toml: not valid TOML" in " ".join(answer.out.split())
    assert "reference.py is missing" in answer.out


def test_a_header_that_cannot_be_read_is_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_kernel(tmp_path, {"v0_a.cu": '#include "tile.cuh"\n', "tile.cuh": ""})
    monkeypatch.chdir(tmp_path)
    deny_reading(monkeypatch, tmp_path / "kernels" / "add_one" / "tile.cuh")
    for words in (["list", "add_one"], ["gate", "add_one"], ["profile", "add_one"]):
        answer = run(*words)
        assert answer.code == 2
        assert "add_one: tile.cuh cannot be read (Permission denied)" in answer.err


STRAYS = {"v1.cu": "", "V2_x.cu": "", "v3-x.cu": "", "naive.cu": "", "tile.cuh": ""}


@pytest.mark.usefixtures("no_gpu")
def test_files_that_are_no_versions_are_named_with_the_command_that_mends_each(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_kernel(tmp_path, {"v0_torch.py": PYTHON_VERSION, **STRAYS})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ncu_assist.pipeline.planning.measure_all", measured_nothing)
    commands = [
        "mv kernels/add_one/v1.cu kernels/add_one/v1_idea.cu",
        "mv kernels/add_one/V2_x.cu kernels/add_one/v2_x.cu",
        "mv kernels/add_one/v3-x.cu kernels/add_one/v3_x.cu",
        "mv kernels/add_one/naive.cu kernels/add_one/v4_naive.cu",
    ]
    for words in (["list"], ["list", "add_one"], ["check", "add_one"], ["bench", "add_one"], ["profile", "add_one"]):
        said = run(*words).err
        for command in commands:
            assert said.count(f"its name is not v<number>_<idea>.cu; try: {command}\n") == 1
        assert "tile.cuh" not in said
    (kernel,) = run("list", "--json").json["kernels"]
    assert {"file": "naive.cu", "rename_to": "v4_naive.cu"} in kernel["misnamed"]
    assert len(kernel["misnamed"]) == 4


def measured_nothing(*_: object, **__: object) -> None:
    raise StageFailed("nothing is measured here")


def test_a_kernel_without_versions_says_which_files_are_none(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_kernel(tmp_path, {"naive.cu": "", "v1.cu": ""})
    monkeypatch.chdir(tmp_path)
    for command in ("check", "bench", "profile"):
        answer = run(command, "add_one")
        assert answer.code == 2
        assert "add_one has no versions: naive.cu is not a version" in answer.err
        assert (
            "try: mv kernels/add_one/naive.cu kernels/add_one/v2_naive.cu && "
            "mv kernels/add_one/v1.cu kernels/add_one/v1_idea.cu" in answer.err
        )


def test_all_mistakes_of_a_folder_at_once_and_the_other_kernels_in_place(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_kernel(tmp_path).rename(tmp_path / "kernels" / "right")
    toml = (
        TOML.replace("norm = 1e-6", "norm = -1")
        .replace('"8 * n"', '"n - 1024"')
        .replace("[workloads.odd]", "[workloads.all]")
    )
    wrong = write_kernel(tmp_path, {"v1_a.py": PYTHON_VERSION, "v1_b.py": PYTHON_VERSION}, toml)
    wrong.rename(wrong.with_name("add-one"))
    monkeypatch.chdir(tmp_path)
    listed = run("list")
    assert listed.code == 0
    assert "right" in listed.out
    assert "adds one" in listed.out
    told = run("check", "add-one")
    assert (told.code, told.out) == (2, "")
    for said in (told.err, listed.out):
        words = " ".join(said.split())
        for mistake in (
            "add-one has 5 mistakes",
            "mv kernels/add-one kernels/add_one",
            "v1_a.py and v1_b.py have the same number 1; try: rename one of them",
            "'norm' must be 0 or more and finite, not -1; try: write norm = 1e-6",
            "comes to 0 on workload 'small' and -24 on workload 'all'; try: write the bytes that a call must move",
            "no workload can be called 'all'",
        ):
            assert mistake in words


def test_where_nothing_is_it_says_where_it_looked(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = run("list")
    assert (answer.code, answer.out.startswith("there are no kernels")) == (0, True)
    assert f"looked in {tmp_path}; neither this folder nor one above has kernels/" in answer.err
    offered = [line.split(": ncu-assist ")[1] for line in answer.err.splitlines() if ": ncu-assist " in line]
    assert "demo" in offered
    assert [words for words in offered if words.split()[0] not in COMMANDS] == []
    assert run("list", "--json").json["kernels"] == []
    (tmp_path / "kernels").mkdir()
    assert f"looked in {tmp_path}\n" in run("list").err


def test_many_kernels_are_listed_page_by_page(run: Run, recorded: Path) -> None:
    for name in ("another", "third"):
        (recorded / "kernels" / name).mkdir()
        shutil.copy(recorded / "kernels" / "lightning_decode" / "kernel.toml", recorded / "kernels" / name)
    every = [one["kernel"] for one in run("list", "--json").json["kernels"]]
    assert len(every) == 3
    pages = [run("list", "--limit", "2", "--page", str(page), "--json") for page in range(1, (len(every) + 1) // 2 + 1)]
    assert [one["kernel"] for answer in pages for one in answer.json["kernels"]] == every
    assert f"2 of {len(every)} kernels" in pages[0].err
    assert run("list", "--limit", "2", "--page", "99").code == 2
    assert run("list", "--page", "2").code == 2


def test_samples_that_were_changed_cost_their_run_and_not_the_verdict_on_libraries(run: Run, family: Path) -> None:
    before = run("list", "softmax", "--json").json["kernels"][0]["against_library"]
    assert (before["own"], before["library"]) == ("v5_triton_row", "v2_torch_compile")
    place = change(family, "v5")
    answer = run("list", "softmax")
    assert answer.code == 0
    assert f"left out: {place}: samples.parquet was changed after it was written" in answer.err
    assert "v5_triton_row - cannot be read" in " ".join(answer.out.split())
    assert "own / library: v7_lanes_a_row 31.3 µs, v2_torch_compile 48.3 µs" in answer.out
    listed = run("list", "--json").json
    assert [f"reports/{one['path']}" for one in listed["damaged"]] == [place]
    assert listed["kernels"][0]["against_library"]["own"] == "v7_lanes_a_row"


def test_where_every_library_was_changed_they_are_named_and_there_is_no_verdict(run: Run, family: Path) -> None:
    places = [change(family, version) for version in ("v0", "v1", "v2")]
    answer = run("list", "softmax")
    assert (answer.code, "own / library" in answer.out) == (0, False)
    assert answer.err.count("left out: ") == len(places)
    assert all(f"left out: {place}: " in answer.err for place in places)


def test_where_every_run_was_changed_the_versions_are_listed(run: Run, family: Path) -> None:
    for number in range(10):
        change(family, f"v{number}")
    answer = run("list")
    assert (answer.code, answer.out.count("cannot be read"), answer.err.count("left out: ")) == (0, 10, 10)


def test_samples_that_are_not_those_of_the_record_are_named(run: Run, family: Path) -> None:
    """Their hash is right, so the run stays; nothing is said of how it stands to a library."""
    store = Store(family / "reports")
    (stored,) = store.runs("softmax", "v5_triton_row")
    contents = {name: stored.read(name) for name in stored.run.files}
    samples = stored.samples()
    own = samples.index[(samples["version"] == "v5_triton_row") & (samples["workload"] == "c4k")]
    contents["samples.parquet"] = samples_parquet(samples.drop(own[:5]))
    shutil.rmtree(stored.folder)
    store.save(stored.run, contents)
    answer = run("list", "softmax")
    assert (answer.code, "own / library" in answer.out) == (0, False)
    assert f"left out: reports/softmax/v5_triton_row/{stored.run.run_id}: samples.parquet has " in answer.err


def test_each_run_is_opened_once(run: Run, recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = recorded / "kernels" / "lightning_decode" / "v7_registers_128bit.cu"
    path.write_text(path.read_text() + "\nint more;\n")  # without a run: whether it has a damaged one is looked up
    folders: Counter[Path] = Counter()

    def counted(folder: Path) -> StoredRun:
        folders[folder] += 1
        return open_run(folder)

    monkeypatch.setattr(index, "open_run", counted)
    assert run("list").code == 0
    assert len(folders) > 1
    assert set(folders.values()) == {1}
