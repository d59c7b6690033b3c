"""Every specification of a covariance or a subspace, from fit to file, and what is not one."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, fields, replace
from typing import get_args

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim import covariance, lda, qda, subspace
from discrim.covariance import (
    MCD,
    Diagonal,
    FactorAnalytic,
    Full,
    NonlinearShrinkage,
    PseudoInverse,
    Separable,
    Shrunk,
    ShrunkCorrelation,
    Spherical,
    StudentT,
)
from discrim.datasets import load_iris, load_penguins
from discrim.errors import DataError, NotSupportedError
from discrim.models.base.refits import refit_options
from discrim.models.base.tensor_file import read_file, write_file
from discrim.models.discriminant.covariance_models import LDA_COVARIANCES, QDA_COVARIANCES
from discrim.penalty import Lasso, Ridge
from discrim.subspace import MultipleCorrespondence, PrincipalComponents, RandomFeatures, SparsePLS

IRIS, BIRDS = load_iris(), load_penguins()
FORMULA, LEVELS = "species ~ .", "species ~ island + sex"
SEPALS = "species ~ sepal_length + sepal_width"

BOTH = [
    Full(), Diagonal(), Diagonal(0.2), Diagonal("strimmer"), Diagonal("loo", grid=[0.1, 0.5]), Shrunk(),
    Shrunk(0.1), Shrunk("ledoit-wolf"), Shrunk("loo", grid=[0.0, 0.3]), Shrunk(0.2, standardize=True),
    NonlinearShrinkage(), NonlinearShrinkage(standardize=True),
    Spherical(), Spherical(standardize=True), StudentT(), StudentT(nu=None, scatter="scale"),
    MCD(0.75), Separable(2, 1),
]  # fmt: skip
CASES = [
    *((lda, {"covariance": each}) for each in (
        *BOTH, ShrunkCorrelation(), ShrunkCorrelation(0.3, variance_shrinkage=0.1), PseudoInverse()
    )),
    *((qda, {"covariance": each}) for each in (
        *BOTH, FactorAnalytic(1), FactorAnalytic("bic", form="AkBkQkDk"), FactorAnalytic(threshold=0.1),
        FactorAnalytic({"setosa": 1, "versicolor": 1, "virginica": 1}, standardize=True),
    )),
    *((verb, {"components": PrincipalComponents(n, standardize=n == 1)})
      for verb in (lda, qda) for n in (1, 0.9, "cv", "loo")),
    *((lda, {"components": MultipleCorrespondence(n)}) for n in (2, 0.5)),
]  # fmt: skip


def label_of(value):
    return getattr(value, "__name__", str(value))


every_case = pytest.mark.parametrize(("verb", "options"), CASES, ids=label_of)
SPECIFICATIONS = list({repr(each): each for _, options in CASES for each in options.values()}.values())


def data_of(options):
    """Return formula and table for the options of a case."""
    if isinstance(options.get("components"), MultipleCorrespondence):
        return LEVELS, BIRDS[::3].reset_index(drop=True)
    return SEPALS, IRIS[::3].reset_index(drop=True)


@pytest.mark.filterwarnings("ignore::discrim.errors.DiscrimWarning")
@every_case
def test_a_specification_is_fitted_summarized_saved_and_fitted_again(verb, options, tmp_path):
    formula, table = data_of(options)
    fit = verb(formula, table, **options)
    ((option, specification),) = options.items()
    assert fit.summary().as_text()
    posteriors = fit.predict_proba()
    fit.save(tmp_path / "fit")
    loaded = discrim.load(tmp_path / "fit")
    assert loaded._fit.options[option] == fit._fit.options[option] == specification
    pd.testing.assert_frame_equal(loaded.predict_proba(table), posteriors, rtol=1e-9, atol=1e-12)
    # What the rows chose is held: the fit that these options make is the same.
    held = refit_options(fit)
    assert type(held[option]) is type(specification)
    again = verb(formula, table, **{name: held[name] for name in (option, "prior")})
    pd.testing.assert_frame_equal(again.predict_proba(), posteriors, rtol=1e-4, atol=1e-4)
    assert refit_options(loaded)[option] == held[option]


@pytest.mark.filterwarnings("ignore::discrim.errors.DiscrimWarning")
@pytest.mark.parametrize(
    ("verb", "options"),
    [
        pytest.param(*case, marks=[pytest.mark.slow] * (getattr(case[1].get("covariance"), "nu", 1) is None))
        for case in CASES
    ],
    ids=label_of,
)
def test_every_row_is_left_out_or_an_error_is_raised(verb, options):
    formula, table = data_of(options)
    fit = verb(formula, table, **options)
    try:
        left_out = fit.leave_one_out()
    except NotSupportedError:
        assert isinstance(options.get("covariance"), MCD)
        return
    assert left_out["label"].notna().sum() == fit.nobs


@pytest.mark.parametrize("specification", SPECIFICATIONS, ids=repr)
def test_a_specification_is_a_value(specification):
    names = {name: getattr(module, name) for module in (covariance, subspace) for name in module.__all__}
    for again in (
        eval(repr(specification), names),
        pickle.loads(pickle.dumps(specification)),
        replace(specification),
    ):
        assert again == specification
        assert hash(again) == hash(specification)
        assert type(again) is type(specification)
    for field in fields(specification):
        with pytest.raises(FrozenInstanceError):
            setattr(specification, field.name, None)


@pytest.mark.parametrize(("verb", "option"), [(lda, LDA_COVARIANCES), (qda, QDA_COVARIANCES)])
def test_a_word_is_its_specification_with_defaults(verb, option):
    literal = {"lda": covariance.LinearCovariance, "qda": covariance.QuadraticCovariance}[verb.__name__]
    assert tuple(option.classes_by_keyword) == get_args(literal)
    for word, specification in option.classes_by_keyword.items():
        one, other = (verb(SEPALS, IRIS, covariance=each) for each in (word, specification()))
        pd.testing.assert_frame_equal(one.predict_proba(), other.predict_proba())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        *(
            (lambda value=value: Shrunk(value), "from 0 to 1")
            for value in (1.5, -0.1, float("nan"), True, [0.1])
        ),
        (lambda: Shrunk("auto"), "ledoit-wolf"),
        (lambda: Shrunk("strimmer"), "ledoit-wolf"),
        (lambda: Diagonal("oas"), "strimmer"),
        (lambda: ShrunkCorrelation("loo"), "strimmer"),
        (lambda: ShrunkCorrelation(variance_shrinkage="oas"), "variance_shrinkage"),
        (lambda: ShrunkCorrelation(variance_shrinkage=True), "variance_shrinkage"),
        (lambda: Shrunk(grid=[0.1]), "grid"),
        *((lambda grid=grid: Shrunk("loo", grid=grid), "grid") for grid in ([], [0.5, 1.2], ["a"], 0.5)),
        (lambda: Spherical("yes"), "standardize"),
        (lambda: StudentT(2), 'scatter="scale"'),
        *((lambda nu=nu: StudentT(nu), "nu=") for nu in (0.5, float("nan"), "5", True)),
        (lambda: StudentT(scatter="both"), "scatter"),
        *((lambda share=share: MCD(share), "support_fraction") for share in (0.4, 1.1, "most")),
        *((lambda rows=rows: Separable(rows, 2), "rows") for rows in (0, 2.0, True, "2")),
        *((lambda number=number: FactorAnalytic(number), "dimensions") for number in (0, True, "scree", 1.5)),
        (lambda: FactorAnalytic(form="AkBk"), "AkjBkQkDk"),
        (lambda: FactorAnalytic(threshold=0), "threshold"),
        (lambda: FactorAnalytic(2, threshold=0.1), "threshold"),
        *((lambda n=n: PrincipalComponents(n), "n=") for n in (0, -1, 1.5, 1.0, True, "x", [2])),
        *((lambda n=n: Lasso(folds=n), "folds=") for n in (0, 1, True, "x", None, 2.5)),
        *((lambda n=n: Ridge(seed=n), "seed=") for n in (-1, True, "x", 1.5)),
    ],
)
def test_out_of_range_parameter_raises_at_construction(make, message):
    with pytest.raises(DataError, match=message):
        make()


@pytest.mark.parametrize(
    ("verb", "option", "kind", "advice"),
    [
        (lda, "covariance", Separable, "Separable(rows=..., columns=...)"),
        (lda, "covariance", Shrunk, "Shrunk()"),
        (lda, "components", PrincipalComponents, "PrincipalComponents(n=...)"),
        (discrim.kernel_lda, "components", RandomFeatures, "RandomFeatures(n=...)"),
        (discrim.pls, "algorithm", SparsePLS, "SparsePLS(nonzero=...)"),
        (discrim.logistic, "penalty", Lasso, "Lasso()"),
    ],
)
def test_specification_class_instead_of_instance_raises_with_a_hint(verb, option, kind, advice):
    with pytest.raises(DataError) as caught:
        verb(FORMULA, IRIS, **{option: kind})
    assert f"{option}={advice}" in str(caught.value)


@pytest.mark.parametrize("value", [Full(), Full, dict, subspace.SubspaceSpecification(2)])
@pytest.mark.parametrize(
    ("verb", "option"),
    [
        (lda, "components"), (qda, "components"), (discrim.kernel_lda, "components"),
        (discrim.logistic, "penalty"), (discrim.rda, "parametrization"),
    ],
)  # fmt: skip
def test_specification_of_another_option_raises_and_lists_valid_ones(verb, option, value):
    with pytest.raises(DataError) as caught:
        verb(FORMULA, IRIS, **{option: value})
    name = value.__name__ if isinstance(value, type) else repr(value)
    assert f"{option}={name} is not supported" in str(caught.value)
    assert "discrim." in str(caught.value)


@pytest.mark.parametrize(
    "parameters", [{"seed": "x"}, {"folds": 1}, {"strength": -1}, {"grid": ["a"]}, {"select": "2se"}]
)
def test_file_with_an_invalid_penalty_raises_damaged_file(parameters, tmp_path):
    discrim.logistic(SEPALS, IRIS, penalty=Ridge(0.1)).save(tmp_path / "fit")
    about, tensors = read_file(tmp_path / "fit")
    about["arguments"]["penalty"]["parameters"] |= parameters
    write_file(tmp_path / "fit", about, tensors)
    with pytest.raises(DataError) as caught:
        discrim.load(tmp_path / "fit")
    assert "'penalty'" in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"specification": "covariance.Unknown", "parameters": {}},
        {"specification": "covariance.Shrunk", "parameters": {"shrinkage": 1.5}},
        {"specification": "covariance.Shrunk", "parameters": {"shrinkage": [0.1]}},
        {"specification": "covariance.Shrunk", "parameters": {"unknown": 1}},
        {"specification": "covariance.Separable", "parameters": {"rows": 2}},
        {"specification": "covariance.Shrunk", "parameters": [0.1]},
        {"specification": 3, "parameters": {}},
    ],
)
def test_file_with_an_invalid_specification_raises_damaged_file(change, tmp_path):
    lda(SEPALS, IRIS, covariance=Shrunk(0.1)).save(tmp_path / "fit")
    about, tensors = read_file(tmp_path / "fit")
    assert about["arguments"]["covariance"]["specification"] == "covariance.Shrunk"
    assert about["arguments"]["covariance"]["parameters"]["shrinkage"] == 0.1
    about["arguments"]["covariance"] = change
    write_file(tmp_path / "fit", about, tensors)
    with pytest.raises(DataError) as caught:
        discrim.load(tmp_path / "fit")
    assert "'covariance'" in str(caught.value)


@pytest.mark.parametrize(
    ("verb", "options", "error"),
    [
        (lda, {"covariance": "factor"}, DataError),
        (lda, {"covariance": FactorAnalytic()}, DataError),
        (qda, {"covariance": ShrunkCorrelation()}, DataError),
        (qda, {"covariance": PseudoInverse()}, DataError),
        (lda, {"covariance": Shrunk}, DataError),
        (lda, {"covariance": PrincipalComponents(2)}, DataError),
        (lda, {"covariance": StudentT(), "method": "mle"}, DataError),
        (lda, {"covariance": MCD(), "components": 1}, NotSupportedError),
        (lda, {"covariance": Separable(2, 1), "components": 1}, NotSupportedError),
        (lda, {"covariance": Shrunk("loo"), "components": 1}, NotSupportedError),
        (lda, {"covariance": Shrunk(standardize=True), "components": 1}, NotSupportedError),
        (lda, {"covariance": Shrunk(0.1), "missing": "em"}, NotSupportedError),
        (qda, {"covariance": StudentT(), "ncomp": 1}, NotSupportedError),
        (qda, {"components": MultipleCorrespondence(2)}, NotSupportedError),
    ],
)
def test_incompatible_options_raise(verb, options, error):
    with pytest.raises(error, match=r"covariance|components"):
        verb(SEPALS, IRIS, **options)


def test_data_driven_parameter_is_stored_by_value():
    fit = lda(FORMULA, IRIS, covariance=Shrunk("loo", grid=[0.0, 0.2]))
    assert refit_options(fit)["covariance"] == Shrunk(fit.shrinkage)
    assert refit_options(fit, rechoose=True)["covariance"] == Shrunk("loo", grid=[0.0, 0.2])
    robust = lda(FORMULA, IRIS, covariance=StudentT(nu=None))
    assert refit_options(robust)["covariance"] == StudentT(nu=robust._fit.estimates.covariance_model.nu)
    axes = lda(FORMULA, IRIS, components="cv")
    assert refit_options(axes)["components"] == axes._fit.estimates.components
    assert np.isfinite(axes.predict_proba()).all(axis=None)


def test_penalties_with_the_same_splits_are_equal():
    positions = np.arange(10)
    splits = [(positions[:5], positions[5:]), (positions[5:], positions[:5])]
    one, two = Lasso(folds=splits), Lasso(folds=(pair for pair in splits))
    assert (one, hash(one)) == (two, hash(two))
    assert one != Lasso(folds=splits[::-1])
