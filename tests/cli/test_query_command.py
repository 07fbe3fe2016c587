"""``ncu-assist query``: SQL over the archive, which reads the archive and nothing else."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from commandline import Run, change, files

import ncu_assist
from ncu_assist.errors import UsageProblem
from ncu_assist.pipeline import querying
from ncu_assist.store import Store, StoredRun
from ncu_assist.store.index import cache_folder

pytest.importorskip("duckdb")
KERNEL = "softmax"


@pytest.mark.slow
@pytest.mark.parametrize("packed", [False, True])
def test_the_tables_are_what_the_runs_say(run: Run, family: Path, packed: bool) -> None:
    if packed:
        assert run("archive", "pack").code == 0
    runs = Store(family / "reports").runs()
    found = ncu_assist.archive()
    assert found.query("select count(*) as n from runs")["n"][0] == len(runs)
    rows = found.query("select reference, workload, median_ns from timings").itertuples(index=False, name=None)
    said = {(one.reference, timing.workload, timing.median_ns) for one in runs for timing in one.run.timings}
    assert set(rows) == said
    kept = {(one.reference, *row) for one in runs for row in metric_rows(one)}
    columns = "reference, launch, metric, value, text, unit"
    rows = found.query(f"select {columns} from metrics where value is not null or text is not null")
    assert {tuple(None if v != v else v for v in row) for row in rows.itertuples(index=False, name=None)} == kept
    launched = {
        (one.reference, launch.index, launch.workload, launch.kernel) for one in runs for launch in one.run.launches
    }
    rows = found.query("select distinct reference, launch, workload, function from metrics")
    assert set(rows.itertuples(index=False, name=None)) == launched
    assert len(found.query("select * from findings")) == len(found.findings)
    order = ["reference", "kind", "workload", "round", "position"]
    taken, same = (one.sort_values(order, ignore_index=True) for one in (found.query("from samples"), found.samples))
    assert taken.astype(same.dtypes).equals(same)
    assert len(taken) > 100


def metric_rows(stored: StoredRun) -> list[tuple[object, ...]]:
    frame = stored.metrics()
    kept = frame[frame["value"].notna() | frame["text"].notna()].astype(object)
    return [tuple(None if v is None or v != v else v for v in row) for row in kept.itertuples(index=False, name=None)]


def test_the_tables_are_listed_without_building_them(run: Run, family: Path) -> None:
    answer = run("query", "show tables")
    assert answer.out.split() == ["name", *sorted(querying.COLUMNS)]
    assert not list(cache_folder(family / "reports").rglob("*.parquet"))


def test_forms(run: Run, family: Path) -> None:
    sql = "select version, count(*) as n, max(median_ns) as longest from timings group by version order by version"
    as_json = run("query", sql, "--json").json
    assert as_json["columns"] == ["version", "n", "longest"]
    rows = list(csv.reader(run("query", sql, "--format", "csv").out.splitlines()))
    assert rows[0] == as_json["columns"]
    assert [[row[0], int(row[1]), float(row[2])] for row in rows[1:]] == as_json["rows"]
    assert run("query", sql, "--format", "markdown").out.splitlines()[1] == "| --- | --: | --: |"
    text = run("query", sql, "--limit", "2")
    assert len(text.out.splitlines()) == 3
    assert "there are more rows" in text.err
    assert (
        run("query", "select null as a, 1.0/0 as b, date '2026-01-02' as c", "--json").json["rows"][0][2]
        == "2026-01-02"
    )
    assert run("query", sql, "--json", "--format", "csv").code == 2


@pytest.mark.parametrize(
    "sql",
    [
        "select * from read_csv('{secret}')",
        "select * from read_text('{secret}')",
        "select * from '{secret}'",
        "select * from glob('{folder}/*')",
        "select * from runs, read_text('{secret}')",
        "copy (select 1) to '{folder}/written.csv'",
        "copy runs to '{folder}/written.parquet'",
        "attach '{folder}/written.db'",
        "create table mine as select 1",
        "insert into runs select * from runs",
        "drop view runs",
        "set enable_external_access = true",
        "select 1; select 2",
        "pragma enable_profiling",
        "install httpfs",
        "load httpfs",
        "export database '{folder}/written'",
        "select * from query('copy runs to ''{folder}/written.csv''')",
        "select * from found",
        "",
        "selekt",
    ],
)
def test_nothing_else_is_read_and_nothing_written(run: Run, family: Path, sql: str) -> None:
    secret = family / "secret.csv"
    secret.write_text("word\nhidden\n")
    run("query", "select count(*) from runs")
    before = files(family)
    answer = run("query", sql.format(secret=secret, folder=family))
    assert answer.code == 2
    assert "hidden" not in answer.out + answer.err
    assert files(family) == before


def test_a_path_of_the_cache_cannot_be_written(family: Path) -> None:
    store = Store(family / "reports")
    (part,) = querying.parts(store, "runs", family)
    before = part.read_bytes()
    with pytest.raises(UsageProblem):
        querying.query(store, f"copy (select 1 as runs) to '{part}'")
    assert part.read_bytes() == before


def test_a_run_that_was_changed_is_named_and_in_no_table_until_it_is_whole_again(run: Run, family: Path) -> None:
    counts = [f"select count(*) from {table} where version like 'v6%'" for table in ("timings", "samples")]

    def rows() -> list[int]:
        return [run("query", sql, "--json").json["rows"][0][0] for sql in counts]

    (path,) = family.glob("reports/softmax/v6_*/*/samples.parquet")
    data = path.read_bytes()
    place = change(family, "v6")
    answer = run("query", counts[0])
    assert (answer.code, answer.err.count(f"left out: {place}: samples.parquet was changed")) == (0, 1)
    assert rows() == [0, 0]
    path.write_bytes(data)
    assert all(rows())
    assert "left out" not in run("query", counts[0]).err


def test_a_damaged_cache_is_made_anew(run: Run, family: Path) -> None:
    sql = "select metric, sum(value) as total from metrics group by metric order by metric"
    expected = run("query", sql, "--json").json
    (part,) = (cache_folder(family / "reports") / "metrics").rglob("*.parquet")
    whole = part.read_bytes()
    for damaged in (b"", whole[:-100], whole[:4000] + bytes(200) + whole[4200:]):
        part.write_bytes(damaged)
        assert run("query", sql, "--json").json == expected
    next((family / "reports").glob("*/v3_*/*/run.json")).unlink()
    rows = run("query", "select distinct version from metrics", "--json").json["rows"]
    assert not any(version.startswith("v3_") for (version,) in rows)


def test_an_empty_archive_has_the_columns(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for table, columns in querying.COLUMNS.items():
        found = run("query", f"select * from {table}", "--json").json
        assert (found["columns"], found["rows"]) == ([name for name, _ in columns], [])


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("select nowhere from timings", "ncu-assist query 'describe timings'"),
        ("select s.nowhere from samples s", "ncu-assist query 'describe samples'"),
        ("select * from sample", "ncu-assist query 'select * from runs limit 3'"),
    ],
)
def test_what_there_is_not_is_told_by_what_there_is(family: Path, sql: str, hint: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        querying.query(Store(family / "reports"), sql)
    assert caught.value.hint == hint


def test_without_duckdb(run: Run, family: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "duckdb", None)
    answer = run("query", "select 1")
    assert answer.code == 6
    assert "pip install 'ncu-assist[query]'" in answer.err
