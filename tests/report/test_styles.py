"""Colors that can be told apart and text that can be read."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from bothworlds.report import styles

# Viénot, Brettel and Mollon (1999): what is seen without one kind of cones, in linear RGB
BLIND = {
    "protan": np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]]),
    "deutan": np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]]),
}


def linear(color: str) -> np.ndarray:
    c = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("dark", [False, True])
def test_numbers_on_the_ratio_scale_can_be_read(dark):
    for color in styles.ratio_colors(dark=dark):
        assert styles.contrast(color, styles.ink_on(color)) >= 4.5


def test_the_ink_of_the_scorecard_figure_can_be_read():
    assert min(styles.contrast(color, "#111111") for color in styles.ratio_colors()) >= 4.5


@pytest.mark.parametrize(("colors", "paper"), [(styles.COLORS, "#FFFFFF"), (styles.DARK_COLORS, "#15181C")])
def test_lines_stand_out_from_the_paper(colors, paper):
    assert min(styles.contrast(color, paper) for color in colors) >= 3.0


@pytest.mark.parametrize("kind", BLIND)
@pytest.mark.parametrize("colors", [styles.COLORS, styles.DARK_COLORS])
def test_colors_differ_for_the_color_blind_and_shapes_do_too(kind, colors):
    seen = [lab(BLIND[kind] @ linear(color)) for color in colors]
    for (i, a), (j, b) in combinations(enumerate(seen), 2):
        assert np.linalg.norm(a - b) > 20.0, (kind, i, j)
        assert styles.marker(i) != styles.marker(j)


def test_the_first_56_policies_all_look_different():
    looks = {(styles.PAGE_THEME.color(i), styles.marker(i)) for i in range(styles.N_STYLES)}
    assert len(looks) == styles.N_STYLES == 56
