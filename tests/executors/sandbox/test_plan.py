"""What is mounted where, as data: the rules of what hides what, and that both runners carry out the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ncu_assist.errors import UsageProblem
from ncu_assist.executors.sandbox.plan import (
    FolderAccess,
    Mount,
    SandboxLimits,
    SandboxPlan,
    bwrap_argv,
    devices,
    homes,
    mounts,
    software,
    unshare_argv,
)

LIMITS = SandboxLimits()


def planned(places: FolderAccess, software: tuple[Path, ...] = (), cwd: Path = Path("/")) -> dict[str, Mount]:
    return {mount.target: mount for mount in mounts(places, software, cwd, LIMITS)}


def kinds(found: dict[str, Mount], *paths: Path) -> list[str | None]:
    return [found[str(path)].kind if str(path) in found else None for path in paths]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("reports/d1/inputs", ".venv/lib", "kernels"):
        (tmp_path / "project" / name).mkdir(parents=True)
    return tmp_path / "project"


def test_a_project_is_not_there_but_for_what_is_named(project: Path) -> None:
    job, kernels, library = project / "reports" / "d1", project / "kernels", project / ".venv" / "lib"
    found = planned(FolderAccess((job,), (kernels, job / "inputs"), (project,)), (library,), project)
    assert kinds(found, job, kernels, job / "inputs", library) == ["rw", "ro", "ro", "ro"]
    assert kinds(found, project, project / "reports") == ["folder", "folder"]
    assert str(project / "reports" / "d2") not in found
    targets = list(found)
    assert targets.index(str(job)) < targets.index(str(job / "inputs"))


def test_a_hidden_folder_hides_below_what_is_shown(project: Path) -> None:
    found = planned(FolderAccess((project / "reports" / "d1",), (project.parent,), (project, Path("/root"))))
    assert found[str(project)] == Mount("tmpfs", str(project), sealed=True)
    assert kinds(found, project.parent, project / "reports", project / "reports" / "d1") == ["ro", "folder", "rw"]
    assert "/root" not in found, "nothing shows it"


def test_software_never_shows_what_is_hidden(project: Path) -> None:
    found = planned(FolderAccess(hidden=(project,)), (project, project.parent, project / ".venv" / "lib"))
    assert kinds(found, project, project.parent) == ["folder", "folder"]
    assert kinds(found, project / ".venv" / "lib") == ["ro"]


def test_links_are_there_under_both_names(project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    found = planned(FolderAccess((tmp_path / "link" / "reports",), (), (project,)))
    assert found[str(tmp_path / "link" / "reports")].source == str(project / "reports")
    assert kinds(found, project / "reports", tmp_path / "link") == ["rw", "folder"]


@pytest.mark.parametrize("name", ["", "reports/d1/../..", "missing", "link"])
def test_what_cannot_be_writable(project: Path, name: str) -> None:
    (project / "link").symlink_to(project / "kernels")
    for path in (Path(f"{project}/{name}"), Path("/"), Path("relative")):
        with pytest.raises(UsageProblem, match="cannot be writable in the sandbox"):
            planned(FolderAccess((path,), (), (project,)))


def test_what_acts_on_the_machine_is_read_only() -> None:
    found = planned(FolderAccess())
    assert kinds(found, Path("/proc"), Path("/proc/sys"), Path("/sys"), Path("/usr")) == ["proc", "ro", "ro", "ro"]
    assert found["/dev"].sealed
    assert found["/tmp"].size_bytes == LIMITS.tmp_bytes
    assert kinds(found, Path("/dev/null"), Path("/dev/sda"), Path("/dev/kmsg")) == ["device", None, None]


def test_devices_of_the_driver(tmp_path: Path) -> None:
    assert devices(tmp_path) == ()
    (tmp_path / "nvidia0").touch()
    (tmp_path / "nvidia-caps").mkdir()
    (tmp_path / "nvidiactl").symlink_to("/dev/null")
    assert devices(tmp_path) == (), "only device files are shown"


def test_software_is_python_this_package_and_what_the_environment_names(tmp_path: Path) -> None:
    import sys

    found = software({"LD_LIBRARY_PATH": f"{tmp_path}:relative:", "PATH": ""})
    assert tmp_path in found
    assert Path(sys.base_prefix) / "lib" in found
    assert Path(__file__).parents[3] / "ncu_assist" in found
    assert all(path.is_absolute() for path in found)


def test_homes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/")
    assert Path("/") not in homes()
    monkeypatch.setenv("HOME", "/data/me")
    assert homes()[0] == Path("/data/me")


def test_both_runners_carry_out_the_same_plan(project: Path) -> None:
    seen = mounts(FolderAccess((project,)), (), project, LIMITS)
    for uid, rights in ((None, ()), (12345, (38,))):
        plan = SandboxPlan(seen, project, uid, rights, LIMITS)
        line = bwrap_argv(plan, ["prog", "x"])
        order = json.loads(unshare_argv(plan, ["prog", "x"])[-3])
        assert [entry["target"] for entry in order["mounts"]] == [m.target for m in seen]
        places = [i for i, word in enumerate(line) if word in ("--ro-bind", "--bind", "--dev-bind", "--symlink")]
        assert {line[i + 2] for i in places} == {m.target for m in seen if m.source}
        assert json.loads(line[-3])["mounts"] == []
        assert json.loads(line[-3])["uid"] == order["uid"] == uid
        assert ("--unshare-user" in line) == ("--user" in unshare_argv(plan, [])) == (uid is None)
