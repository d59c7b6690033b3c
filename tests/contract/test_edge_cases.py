"""Input at the edge of what a verb accepts raises no exception of Python or NumPy and no NumPy warning."""

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import discrim
from discrim.errors import DataError, FormulaError, NotSupportedError

RNG = np.random.default_rng(0)
DATA = pd.DataFrame(
    {
        "y": list("abc") * 12,
        "u": RNG.normal(size=36),
        "x": RNG.normal(size=36),
        "constant": 0.1 + 0.2,
        "name": [f"t{i}" for i in range(36)],
    }
)
DATA.loc[DATA.index % 2 == 0, "constant"] = 0.3
VERBS = [
    name
    for name in discrim.__all__
    if inspect.isfunction(getattr(discrim, name))
    and next(iter(inspect.signature(getattr(discrim, name)).parameters), "") == "formula"
]


@pytest.fixture(autouse=True)
def _no_numpy_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        yield


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("formula", [5, b"y ~ x", ["y", "x"], np.nan], ids=repr)
def test_formula_that_is_not_a_string_raises_formula_error(verb, formula):
    options = {"fda": {"engine": object()}}.get(verb, {})
    with pytest.raises(FormulaError):
        getattr(discrim, verb)(formula, DATA, **options)


def test_fda_without_an_engine_names_the_argument():
    with pytest.raises(DataError) as caught:
        discrim.fda("y ~ u", DATA)
    assert "engine=" in str(caught.value)


def test_permutations_leave_out_constant_responses():
    # The column differs by rounding only; the tests without it are those of the table without the column.
    for formula in ("y ~ u + x + constant", "y ~ u + constant + x"):
        found = discrim.manova(formula, DATA, permutations=49, seed=1)
        expected = discrim.manova("y ~ u + x", DATA, permutations=49, seed=1)
        assert_allclose(found["p_permutation"], expected["p_permutation"])


@pytest.mark.parametrize("unit", [2.0**530, 2.0**-530, 2.0**990, 2.0**-990])
def test_permutation_tests_do_not_depend_on_the_unit(unit):
    scaled = DATA.assign(u=DATA["u"] * unit, x=DATA["x"] * unit)
    one, other = (discrim.permanova("y ~ u + x", table, permutations=49, seed=1) for table in (DATA, scaled))
    names = ["R2", "F", "p"]
    assert_allclose(other.table[names], one.table[names], rtol=1e-9)
    assert_allclose(other.dispersion("y").table[["F", "p"]], one.dispersion("y").table[["F", "p"]], rtol=1e-9)
    one, other = (discrim.manova("y ~ u + x", table, permutations=49, seed=1) for table in (DATA, scaled))
    assert_allclose(other["p_permutation"], one["p_permutation"])


def test_covariances_outside_the_range_are_infinite_without_a_warning():
    scaled = DATA.assign(u=DATA["u"] * 1e300, x=DATA["x"] * 1e300)
    assert np.isinf(np.diag(discrim.mlm("y ~ u + x", scaled).cov_resid)).all()
    shares = [discrim.plda("y ~ u + x", table).tidy()["share"] for table in (DATA, scaled)]
    assert_allclose(shares[1], shares[0], rtol=1e-9)
    discrim.mixture("y ~ u + x", scaled, components=1).summary().as_text()


@pytest.mark.slow
def test_identifier_column_as_predictor_raises_in_choose_and_learning_curve():
    with pytest.raises(DataError) as caught:
        discrim.choose("y ~ u + name", DATA, candidates=["lda", "naive_bayes"], seed=1)
    assert "'name'" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        discrim.naive_bayes("y ~ u + name", DATA).learning_curve()
    assert "'name'" in str(caught.value)


def test_principal_axes_of_a_class_of_two_rows_do_not_warn():
    data = pd.DataFrame(np.random.default_rng(1).normal(size=(32, 5))).add_prefix("x")
    data["y"] = ["a"] * 15 + ["b"] * 15 + ["c"] * 2
    for alpha, gamma in ((0.5, 0.5), (0, 0.5)):
        fit = discrim.rda("y ~ .", data, components=3, alpha=alpha, gamma=gamma)
        assert fit.leave_one_out()["label"].isna().tolist() == [False] * 30 + [True] * 2


@pytest.mark.slow
def test_every_summary_accepts_all_section_names():
    fit = discrim.lda("y ~ u + x", DATA)
    results = [
        fit,
        fit.assess(),
        fit.canonical(),
        fit.assess(method="apparent").classification(),
        fit.estimate_prior(DATA[:10]),
        fit.learning_curve(sizes=[0.3, 0.5, 0.8], repeats=2, seed=1),
        discrim.choose("y ~ u + x", DATA, candidates=["lda", "qda"], seed=1),
        discrim.cross_validate(fit, 4, seed=1),
        discrim.indicator("y ~ u + x", DATA).optimal_scoring(),
        discrim.mlm("y ~ u + x", DATA),
        discrim.permanova("y ~ u + x", DATA, permutations=9, seed=1),
        discrim.plan(2, 5, draws=100),
        discrim.stepwise("y ~ u + x", DATA, enter=0.99, stay=0.99),
    ]
    for each in results:
        whole = each.summary()
        assert set(each.summary("all").tables) >= set(whole.tables)
        first = next(iter(whole.tables))
        assert list(each.summary([first]).tables) == [first]
