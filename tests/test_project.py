from pathlib import Path

import pytest

from ncu_assist.errors import UsageProblem
from ncu_assist.project import find_project


def write(folder: Path, text: str) -> Path:
    (folder / "pyproject.toml").write_text(text)
    return folder


def test_the_root_is_found_from_below(tmp_path: Path) -> None:
    write(tmp_path, "[tool.ncu-assist]\nrounds = 50\n")
    below = tmp_path / "kernels" / "rope"
    below.mkdir(parents=True)
    project = find_project(below)
    assert (project.root, project.settings.rounds) == (tmp_path, 50)


def test_a_folder_with_kernels_is_a_project_without_settings(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    assert find_project(tmp_path / "kernels").root == tmp_path


def test_anywhere_else_the_folder_itself_is_the_root(tmp_path: Path) -> None:
    assert find_project(tmp_path).reports == tmp_path / "reports"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tool.ncu-assist]\nround = 5\n", "no key 'round'"),
        ("[tool.ncu-assist]\nrounds = 'many'\n", "rounds must be a whole number above 0, not 'many'"),
        ("[tool.ncu-assist]\nrounds = -1\n", "must be a whole number above 0"),
        ("[tool.ncu-assist]\ncheck-trials = 0.5\n", "must be a whole number above 0"),
        ("[tool.ncu-assist]\nversion-timeout-s = inf\n", "must be a number above 0"),
        ("[tool.ncu-assist]\nversion-timeout-s = nan\n", "must be a number above 0"),
        ("tool = 3\n", "must be a table"),
        ("[tool]\nncu-assist = 3\n", "must be a table"),
        ("[tool.ncu-assist\n", "not valid TOML"),
    ],
)
def test_wrong_settings_are_usage_errors(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageProblem, match=words):
        find_project(write(tmp_path, text))
