"""The words of SAS and SPSS for a prior of the class proportions are taken wherever a prior is."""

import pandas as pd
import pytest
from scipy import stats

import discrim
from discrim.datasets import load_penguins
from discrim.errors import PriorError

FORMULA = "species ~ bill_length_mm + bill_depth_mm"
PENGUINS = load_penguins().dropna()
SHARES = PENGUINS["species"].value_counts(normalize=True).sort_index()
OPTIONS = {
    "lda": {},
    "qda": {},
    "rda": {"alpha": 0.5, "gamma": 0.1},
    "naive_bayes": {},
    "shrunken_centroids": {"threshold": 0.5},
    "nearest_centroid": {},
    "knn": {"k": 3},
    "kernel_density": {"bandwidth": 1.0},
    "kernel_lda": {"kernel": "gaussian", "width": 2.0, "ridge": 0.1},
    "logistic": {},
    "pls": {"ncomp": 1},
    "sparse_lda": {"nonzero": 1},
    "mixture": {"components": 1},
}


@pytest.mark.parametrize("word", ["proportional", "size"])
@pytest.mark.parametrize("verb", OPTIONS)
def test_words_stand_for_class_proportions(verb, word):
    fit = getattr(discrim, verb)(FORMULA, PENGUINS, prior=word, **OPTIONS[verb])
    pd.testing.assert_series_equal(fit.prior, SHARES, check_names=False, check_index=False)
    # They are estimated of the rows, and not given: so it is told, and refitted where it is asked for.
    assert "class proportions" in str(fit.summary(["header"]))


@pytest.mark.parametrize("word", ["proportional", "size"])
def test_proportional_prior_uses_proportions_of_the_requested_data(word):
    equal, own = (discrim.lda(FORMULA, PENGUINS, prior=prior) for prior in ("equal", None))
    pd.testing.assert_frame_equal(equal.predict_proba(PENGUINS, prior=word), own.predict_proba(PENGUINS))
    errors = equal.error_rates(["apparent"], prior=word)
    pd.testing.assert_frame_equal(errors, equal.error_rates(["apparent"], prior=SHARES))


def test_bayes_fit_rejects_a_proportional_prior():
    with pytest.raises(PriorError) as caught:
        discrim.bayes("size", {"a": stats.norm(0), "b": stats.norm(1)})
    assert '"equal"' in str(caught.value)


def test_estimator_and_command_line_accept_proportional_priors(capsys):
    estimators = pytest.importorskip("discrim.sklearn")
    columns = ["bill_length_mm", "bill_depth_mm"]
    found = estimators.LDAClassifier(prior="size").fit(PENGUINS[columns], PENGUINS["species"])
    pd.testing.assert_series_equal(found.results_.prior, SHARES, check_names=False, check_index=False)
    cli = pytest.importorskip("discrim.cli")
    assert cli.main(["nearest-centroid", FORMULA, "penguins", "--prior", "proportional"]) in (0, None)
    assert "class proportions" in capsys.readouterr().out
