"""The notebook of the documentation runs from top to bottom."""

import base64
import os
import sys
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("torch")
pytest.importorskip("PIL")

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "docs/tutorials/notebook.ipynb"


def outputs(notebook, kind):
    return [
        output.data[kind]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if kind in output.get("data", {})
    ]


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    path = f"{ROOT / 'src'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path)
        patch.syspath_prepend(str(ROOT / "scripts"))
        from run_notebook import run_notebook

        return run_notebook(NOTEBOOK, tmp_path_factory.mktemp("notebook"))


def test_all_cells_run_and_show_a_film_particles_and_results(executed):
    import nbformat

    assert len(outputs(executed, "image/gif")) == 1
    assert base64.b64decode(outputs(executed, "image/gif")[0]).startswith(b"GIF")
    assert len(outputs(executed, "image/png")) == 2
    printed = "".join(
        output.text
        for cell in executed.cells
        for output in cell.get("outputs", ())
        if output.output_type == "stream"
    )
    assert "visible particles" in printed
    assert "three-cubes-state  success" in printed
    nbformat.validate(executed)


def test_the_committed_outputs_are_small_and_complete():
    import nbformat

    assert NOTEBOOK.stat().st_size < 250_000
    stored = nbformat.read(NOTEBOOK, as_version=4)
    code = [cell for cell in stored.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    assert str(ROOT) not in NOTEBOOK.read_text()
    assert sys.executable not in NOTEBOOK.read_text()
