"""Figures of the documentation: the same bits every time, and nothing outside of the picture."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")
image = pytest.importorskip("PIL.Image")

from jostle.reports import concept_diagrams, concept_plots  # noqa: E402

FIGURES = {
    "entities": concept_diagrams.draw_entities,
    "transformer": concept_diagrams.draw_transformer,
    "values": concept_diagrams.draw_values,
    "hindsight": concept_plots.draw_hindsight,
    "chamfer": concept_plots.draw_chamfer,
    "imitation": concept_plots.draw_imitation,
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_twice_with_the_same_bits(name, tmp_path):
    first, second = (FIGURES[name](tmp_path / part / "figure.png") for part in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("name", FIGURES)
def test_no_drawing_is_cut_off_at_an_edge(name, tmp_path):
    pixels = np.asarray(image.open(FIGURES[name](tmp_path / "figure.png")).convert("L"))
    edges = (pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1])
    assert all((edge == 255).all() for edge in edges)
    assert (pixels < 128).mean() > 0.005
