"""Principal coordinates as a picture: the shares on the axes."""

import re

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import discrim

mpl.use("Agg")
PENGUINS = discrim.datasets.load_penguins().dropna()
COLUMNS = ["bill_length_mm", "bill_depth_mm"]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def eigenvalues(distances):
    """Eigenvalues of Gower's centred matrix, the largest first, as R's cmdscale() computes them."""
    n = len(distances)
    centring = np.eye(n) - 1 / n
    return np.linalg.eigvalsh(centring @ (-0.5 * distances**2) @ centring)[::-1]


@pytest.mark.parametrize(
    ("distance", "label"), [("gower", "of the positive eigenvalues"), ("euclidean", "of all squares")]
)
def test_axis_labels_show_shares_of_positive_eigenvalues(distance, label):
    x = PENGUINS[COLUMNS].to_numpy()
    if distance == "gower":
        # The mean over columns of absolute differences over the range.
        apart = (np.abs(x[:, None] - x) / np.ptp(x, axis=0)).mean(axis=2)
    else:
        apart = np.sqrt(((x[:, None] - x) ** 2).sum(axis=2))
    values = eigenvalues(apart)
    proportions = 100 * values[:2] / np.maximum(values, 0).sum()
    fit = discrim.permanova(f"species ~ {' + '.join(COLUMNS)}", PENGUINS, distance=distance, permutations=9)
    axes = fit.plot("coordinates")
    texts = [axes.get_xlabel().replace("\n", " "), axes.get_ylabel()]
    drawn = [float(re.search(r"([\d.]+) %", text)[1]) for text in texts]
    np.testing.assert_allclose(drawn, proportions, atol=0.051)
    assert sum(drawn) <= 100.0 + 0.1
    assert label in texts[0]
