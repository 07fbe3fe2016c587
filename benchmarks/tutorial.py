"""Run docs/tutorial.ipynb and write its outputs into it, or into another file that is named."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "docs" / "tutorial.ipynb"


def main() -> None:
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, kernel_name="python3", record_timing=False).execute(
        cwd=str(ROOT / "docs")
    )  # where Jupyter starts a notebook
    for cell in notebook.cells:
        cell.metadata.clear()
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    nbformat.write(notebook, Path(sys.argv[1]) if len(sys.argv) > 1 else NOTEBOOK)


if __name__ == "__main__":
    main()
