"""``ncu-assist report``: pages of the last run, a reference, a kernel, a report's file, and all of the archive."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest
from commandline import DATA, REPORT, Run, plain_report
from ncu.test_ncu_blanking import revealing

from ncu_assist.ncu.compressed import read_plain

V6 = "reports/lightning_decode/v6_coalesced_store"


def pages(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html"))


@pytest.mark.slow
def test_a_reference(run: Run, recorded: Path) -> None:
    answer = run("report", "v6")
    (own,) = (recorded / V6).glob("*/report.html")
    assert answer.code == 0
    assert answer.out.splitlines() == [
        own.relative_to(recorded).as_posix(),
        f"{V6}/diff-v5_shared_padded.html",
        "reports/lightning_decode/v7_registers_128bit/diff-v6_coalesced_store.html",
        "reports/lightning_decode/index.html",
        "reports/index.html",
    ]
    assert set(pages(recorded)) == set(answer.out.splitlines())
    assert run("verify").code == 0


@pytest.mark.slow
def test_json(run: Run, recorded: Path) -> None:
    answer = run("report", "v0", "--json").json
    assert answer["schema"] == "ncu-assist.report/1"
    assert answer["problems"] == []
    # v1 and v3 are held against v0
    assert [one["kind"] for one in answer["pages"]] == ["run", "diff", "diff", "ladder", "index"]
    assert answer["asked"] == answer["pages"][0]["path"]
    assert (recorded / answer["asked"]).is_file()
    assert answer["pages"][3]["of"] == "lightning_decode"
    assert answer["pages"][4] == {"kind": "index", "of": None, "path": "reports/index.html"}


@pytest.mark.slow
def test_a_file_becomes_a_page_in_the_current_folder(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    plain_report(tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path)
    answer = run("report", "elsewhere/mine.ncu-rep")
    assert (answer.code, answer.out) == (0, "mine.html\n")
    assert pages(tmp_path) == ["mine.html"]
    assert "transpose" in (tmp_path / "mine.html").read_text()
    (tmp_path / "mine.html").write_text("a page of mine")
    refused = run("report", "elsewhere/mine.ncu-rep")
    assert refused.code == 2
    assert "mine.html already exists and is not a page of ncu-assist" in refused.err
    assert "--force" in refused.err
    assert (tmp_path / "mine.html").read_text() == "a page of mine"
    assert run("report", "elsewhere/mine.ncu-rep", "--force").code == 0


@pytest.fixture(scope="module")
def revealing_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorded report with the folder of a made-up person, as it was before it was made fit to be shipped."""
    path = tmp_path_factory.mktemp("revealing") / "mine.ncu-rep"
    path.write_bytes(revealing(read_plain(REPORT)))
    return path


@pytest.mark.slow
def test_a_page_tells_no_more_of_a_machine_than_an_export(
    run: Run, revealing_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "/home/alice/secret-project" in run("report", str(revealing_file), "--no-redact", "-o", "-").out
    for words in (("report", str(revealing_file)), ("diff", *[str(revealing_file)] * 2, "--format", "html")):
        page = run(*words, "-o", "-").out
        assert "alice" not in page
        assert "secret-project" not in page
        assert "transpose.cu" in page


@pytest.mark.slow
def test_the_page_of_an_imported_report_is_redacted_too(
    run: Run, revealing_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("import", str(revealing_file)).code == 0
    assert run("report").code == 0
    (page,) = tmp_path.rglob("report.html")
    assert "alice" not in page.read_text()
    assert "&lt;path&gt;/transpose.cu" in page.read_text()


@pytest.mark.slow
def test_an_output_is_opened(run: Run, recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: asked.append(url) or False)
    answer = run("report", "lightning_decode", "--output", "a ladder#1.html", "--open")
    assert (answer.code, answer.out) == (0, "a ladder#1.html\n")
    assert asked == [f"{recorded.resolve().as_uri()}/a%20ladder%231.html"]
    assert "no browser could be started; open " in answer.err
    assert pages(recorded) == ["a ladder#1.html"]


@pytest.mark.slow
@pytest.mark.parametrize("wanted", ["v6", "lightning_decode"])
def test_a_dash_is_stdout(run: Run, recorded: Path, wanted: str) -> None:
    answer = run("report", wanted, "-o", "-")
    assert answer.code == 0
    assert answer.out.startswith("<!doctype html>")
    assert answer.out.rstrip().endswith("</html>")
    assert not (recorded / "-").exists()
    assert pages(recorded) == []
    assert "writes only the page to stdout" in run("report", wanted, "-o", "-", "--json").err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("report", "lightning_decod"), "did you mean 'lightning_decode'?"),
        (("report", "v99"), "there is no kernel or version 'v99'"),
        (("report", "--all", "v6"), "--all writes all pages"),
        (("report", "--all", "--output", "x.html"), "--all writes all pages"),
        (("report", "v6", "--output", "missing/x.html"), "does not exist"),
        (("report", "v6", "--output", "reports"), "is a folder"),
        (("report", "missing.ncu-rep"), "there is no report missing.ncu-rep"),
    ],
)
def test_what_cannot_be_written_is_a_usage_error(run: Run, recorded: Path, words: tuple[str, ...], said: str) -> None:
    answer = run(*words)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert pages(recorded) == []


def test_an_empty_archive(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = run("report")
    assert answer.code == 2
    assert "nothing has been measured yet" in answer.err
    assert run("report", "--all").code == 2
    assert pages(tmp_path) == []


@pytest.mark.slow
def test_a_damaged_run(run: Run, recorded: Path) -> None:
    for name in ("v6_coalesced_store", "v7_registers_128bit"):
        path = next(recorded.glob(f"reports/lightning_decode/{name}/*/metrics.parquet"))
        path.write_bytes(bytes(reversed(path.read_bytes())))
    assert run("report", "v6").code == 7
    around = run("report", "v8")
    assert around.code == 0, "what stands beside the damaged ones is not touched by them"
    index = (recorded / "reports/lightning_decode/index.html").read_text()
    assert all(f"lightning_decode/{name}/" in index for name in ("v6_coalesced_store", "v7_registers_128bit"))
    assert "metrics.parquet was changed" in index
    whole = (recorded / "reports/index.html").read_text()
    assert whole.count("metrics.parquet was changed") == 2, "the index knows what the ladder knows"


@pytest.mark.slow
def test_a_packed_report_is_called_by_its_stem(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = "transpose_basic_h200_2025.3.1"
    assert run("report", str(DATA / f"{name}.ncu-rep.zst")).out == f"{name}.html\n"
