"""Probabilistic linear discriminant analysis against joint normal densities and an EM written out plainly."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_curve
from statsmodels.regression.mixed_linear_model import MixedLM

import discrim
from discrim.core.discriminant.plda import TOL
from discrim.errors import (
    CollinearError,
    ConvergenceWarning,
    DataError,
    NotSupportedError,
    UninformativeFitWarning,
)
from discrim.inference.verification import Costs, PairScores
from discrim.models.base.tensor_file import read_file, write_file
from discrim.sklearn import PLDAClassifier

B = np.array([[4.0, 1.0, 0.5], [1.0, 1.0, 0.0], [0.5, 0.0, 0.3]])
W = np.array([[1.0, 0.3, 0.0], [0.3, 2.0, -0.4], [0.0, -0.4, 0.5]])
COLUMNS = ["a", "b", "c"]


def table(sizes, seed, between=B, within=W, prefix="s"):
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    y = rng.multivariate_normal([10.0, -3.0, 100.0], between, len(sizes))
    x = y[codes] + rng.multivariate_normal(np.zeros(3), within, len(codes))
    labels = [f"{prefix}{code:04}" for code in codes]
    return pd.DataFrame(x, columns=COLUMNS).assign(speaker=labels)


UNEVEN = table(np.random.default_rng(1).integers(1, 8, 40), 2)
EVEN = table([4] * 30, 3)
NEW = table([3] * 12, 4, prefix="new")


def joint(rows, mean, between, within):
    """Log-density of rows of one class, stacked into one normal vector."""
    n = len(rows)
    cov = np.kron(np.eye(n), within) + np.kron(np.ones((n, n)), between)
    return stats.multivariate_normal.logpdf(np.ravel(rows), np.tile(mean, n), cov)


def of_all(data, mean, between, within):
    return sum(joint(rows[COLUMNS].to_numpy(), mean, between, within) for _, rows in data.groupby("speaker"))


def parts(fit):
    return fit.mean.to_numpy(), fit.between.to_numpy(), fit.within.to_numpy()


def plain_em(data, steps):
    """Two-covariance EM as Kaldi's, class by class, with m of largest likelihood given B and W."""
    groups = [rows[COLUMNS].to_numpy() for _, rows in data.groupby("speaker")]
    x = data[COLUMNS].to_numpy()
    mean, between, within = x.mean(axis=0), np.cov(x.T) / 2, np.cov(x.T) / 2
    means, sizes = [g.mean(axis=0) for g in groups], [len(g) for g in groups]
    for _ in range(steps):
        inverses = {n: np.linalg.inv(between + within / n) for n in set(sizes)}
        covs = {n: np.linalg.inv(np.linalg.inv(between) + n * np.linalg.inv(within)) for n in set(sizes)}
        sums = sum(inverses[n] @ m for n, m in zip(sizes, means, strict=True))
        mean = np.linalg.solve(sum(inverses[n] for n in sizes), sums)
        of_b, of_w = np.zeros((3, 3)), np.zeros((3, 3))
        for n, m, g in zip(sizes, means, groups, strict=True):
            y = covs[n] @ (n * np.linalg.solve(within, m - mean))
            of_b += covs[n] + np.outer(y, y)
            residuals = g - mean - y
            of_w += residuals.T @ residuals + n * covs[n]
        between, within = of_b / len(groups), of_w / len(x)
    return mean, between, within


@pytest.mark.parametrize("data", [UNEVEN, EVEN], ids=["uneven", "even"])
@pytest.mark.parametrize("components", [None, 1, 2])
def test_likelihood_equals_the_density_of_stacked_rows(data, components):
    fit = discrim.plda("speaker ~ .", data, components=components)
    assert fit.llf_given == pytest.approx(of_all(data, *parts(fit)), rel=1e-12)
    assert np.linalg.matrix_rank(fit.between, tol=1e-8) == fit.rank == (components or 3)
    proportions = np.log(fit.prior[data["speaker"]]).sum()
    assert fit.llf == pytest.approx(fit.llf_given + proportions, rel=1e-12)
    assert fit.df_model == 3 + 6 + {None: 6, 1: 3, 2: 5}[components] + len(fit.classes) - 1


@pytest.mark.parametrize("data", [UNEVEN, EVEN], ids=["uneven", "even"])
def test_estimates_equal_those_of_a_plain_em(data):
    fit = discrim.plda("speaker ~ .", data, tol=1e-13)
    for ours, theirs in zip(parts(fit), plain_em(data, 150), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-4)
    assert (fit.steps == 0) == (data is EVEN)
    assert fit.converged


def test_no_nearby_estimate_has_a_larger_likelihood():
    rng = np.random.default_rng(5)
    for data in (UNEVEN, EVEN):
        fit = discrim.plda("speaker ~ .", data)
        for _ in range(3):
            mean, between, within = (
                estimate + 0.02 * rng.normal(size=estimate.shape) for estimate in parts(fit)
            )
            aside = of_all(data, mean, (between + between.T) / 2, (within + within.T) / 2)
            assert aside < fit.llf_given


def test_one_column_is_a_model_of_random_effects():
    fit = discrim.plda("speaker ~ a", UNEVEN, tol=1e-12)
    codes = UNEVEN["speaker"].factorize()[0]
    mixed = MixedLM(UNEVEN["a"], np.ones(len(UNEVEN)), codes).fit(reml=False)
    assert fit.llf_given == pytest.approx(mixed.llf, rel=1e-9)
    assert fit.between.iloc[0, 0] == pytest.approx(mixed.cov_re.iloc[0, 0], rel=1e-3)
    assert fit.within.iloc[0, 0] == pytest.approx(mixed.scale, rel=1e-3)


def test_covariances_are_recovered():
    data = table(np.random.default_rng(6).integers(2, 10, 800), 7)
    fit = discrim.plda("speaker ~ .", data)
    # About five standard errors of a variance of 800 classes, or of 4,000 rows.
    np.testing.assert_allclose(fit.between, B, atol=0.8)
    np.testing.assert_allclose(fit.within, W, atol=0.2)
    np.testing.assert_allclose(fit.mean, [10, -3, 100], atol=0.4)
    flat = table([5] * 800, 8, between=np.outer([1.0, 2.0, 0.5], [1.0, 2.0, 0.5]))
    ratios = discrim.plda("speaker ~ .", flat).ratios
    assert ratios.iloc[0] > 10 * ratios.iloc[1:].sum()


@pytest.mark.parametrize("components", [None, 1])
def test_ratios_equal_those_of_joint_densities(components):
    fit = discrim.plda("speaker ~ .", UNEVEN, components=components)
    distribution = parts(fit)
    a, b = NEW.iloc[::2], NEW.iloc[1::2]
    ratios = fit.verify(a, b)
    assert ratios.index.equals(a.index)
    for (_, x), (_, y), ratio in zip(a.iterrows(), b.iterrows(), ratios, strict=True):
        rows = np.array([x[COLUMNS], y[COLUMNS]], dtype=float)
        expected = (
            joint(rows, *distribution) - joint(rows[:1], *distribution) - joint(rows[1:], *distribution)
        )
        assert ratio == pytest.approx(expected, rel=1e-9, abs=1e-10)
    np.testing.assert_allclose(fit.verify(b, a), ratios, rtol=1e-12, atol=1e-12)


def test_ratios_of_sets_equal_those_of_joint_densities():
    fit = discrim.plda("speaker ~ .", UNEVEN)
    distribution = parts(fit)
    enrolled = pd.concat([NEW[:9], NEW[9:11], NEW[12:13]])
    every = fit.verify_all(enrolled, NEW[13:20], by=("speaker", None))
    assert every.index.tolist() == list(enrolled["speaker"].unique())
    for name, rows in enrolled.groupby("speaker"):
        set_rows = rows[COLUMNS].to_numpy()
        for label, row in NEW[13:20].iterrows():
            new = row[COLUMNS].to_numpy(float)[None]
            expected = (
                joint(np.concatenate([set_rows, new]), *distribution)
                - joint(set_rows, *distribution)
                - joint(new, *distribution)
            )
            assert every.loc[name, label] == pytest.approx(expected, rel=1e-9, abs=1e-10)
    other = enrolled.assign(**{name: enrolled[name] + 1 for name in COLUMNS}).iloc[::-1]
    by_name = fit.verify(enrolled, other, by="speaker")
    square = fit.verify_all(enrolled, other, by="speaker")
    for name, ratio in by_name.items():
        both = [table.loc[table["speaker"] == name, COLUMNS].to_numpy() for table in (enrolled, other)]
        expected = joint(np.concatenate(both), *distribution) - sum(
            joint(table, *distribution) for table in both
        )
        assert ratio == pytest.approx(expected, rel=1e-9)
        assert square.loc[name, name] == pytest.approx(ratio, rel=1e-9)


def test_known_classes_have_predictive_densities():
    fit = discrim.plda("speaker ~ .", UNEVEN, prior="equal")
    distribution = parts(fit)
    groups = {name: rows[COLUMNS].to_numpy() for name, rows in UNEVEN.groupby("speaker")}
    new = NEW[:4]
    expected = np.array(
        [
            [
                joint(np.vstack([class_rows, x]), *distribution) - joint(class_rows, *distribution)
                for class_rows in groups.values()
            ]
            for x in new[COLUMNS].to_numpy()
        ]
    )
    expected -= np.logaddexp.reduce(expected, axis=1)[:, None]
    np.testing.assert_allclose(fit.predict_log_proba(new), expected, rtol=1e-9)
    distant = new.assign(a=1e90)
    assert np.isfinite(fit.predict_proba(distant)).all(axis=None)


def test_length_normalization_equals_transformed_columns(tmp_path):
    x = UNEVEN[COLUMNS].to_numpy()

    def on_sphere(values):
        z = (values - x.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(x.T, bias=True))).T
        return z / np.linalg.norm(z, axis=1)[:, None] * np.sqrt(3)

    fit = discrim.plda("speaker ~ .", UNEVEN, normalize=True)
    by_hand = discrim.plda("speaker ~ .", UNEVEN.assign(**dict(zip(COLUMNS, on_sphere(x).T, strict=True))))
    assert fit.llf_given == pytest.approx(by_hand.llf_given, rel=1e-9)
    shifted = NEW.assign(**dict(zip(COLUMNS, on_sphere(NEW[COLUMNS].to_numpy()).T, strict=True)))
    expected = by_hand.verify_all(shifted, shifted)
    np.testing.assert_allclose(fit.verify_all(NEW, NEW), expected, rtol=1e-6, atol=1e-6)
    assert "scaled to one length" in " ".join(str(fit.summary()).split())
    fit.save(tmp_path / "fit")
    again = discrim.load(tmp_path / "fit")
    pd.testing.assert_series_equal(again.verify(NEW[:5], NEW[5:10]), fit.verify(NEW[:5], NEW[5:10]))
    even = discrim.plda("speaker ~ .", EVEN, normalize=True)
    left_out, apparent = (even.error_rates([how], seed=1)["estimate"].iloc[0] for how in ("cv", "apparent"))
    assert apparent < left_out < 0.9
    with pytest.raises(NotSupportedError) as caught:
        discrim.plda(moments=discrim.moments("speaker ~ .", UNEVEN), normalize=True)
    assert "requires the rows" in str(caught.value)


def test_sources_are_read_in_chunks():
    full_fit = discrim.plda("speaker ~ .", UNEVEN)
    grown = discrim.plda("speaker ~ .", UNEVEN[:60]).update(UNEVEN[60:90]).update(UNEVEN[90:])
    thirds = [discrim.moments("speaker ~ .", UNEVEN[start::3], scatters="pooled") for start in range(3)]
    model = PLDAClassifier()
    for chunk in (UNEVEN[:60], UNEVEN[60:]):
        model.partial_fit(chunk[COLUMNS], chunk["speaker"])
    for fit in (grown, discrim.plda(moments=sum(thirds)), model.results_):
        np.testing.assert_allclose(
            fit.verify(NEW[:18], NEW[18:]), full_fit.verify(NEW[:18], NEW[18:]), rtol=1e-6
        )
    twice = discrim.plda("speaker ~ .", UNEVEN, weights=np.full(len(UNEVEN), 2.0))
    doubled = discrim.plda("speaker ~ .", pd.concat([UNEVEN, UNEVEN]))
    np.testing.assert_allclose(twice.between, doubled.between, rtol=1e-6, atol=1e-8)


# ---- trials


def brute_errors(scores, same, weights, costs):
    """Each measure over all thresholds, pair by pair."""
    cuts = np.append(np.unique(scores), np.inf)
    same_weights, different_weights = weights * same, weights * ~same
    missed = np.array([same_weights[scores < cut].sum() for cut in cuts]) / same_weights.sum()
    false = np.array([different_weights[scores >= cut].sum() for cut in cuts]) / different_weights.sum()
    miss, alarm = costs.miss * costs.probability, costs.false_alarm * (1 - costs.probability)
    cost = (miss * missed + alarm * false) / min(miss, alarm)
    t = np.log(alarm / miss)
    of_own, of_other = (
        same_weights[scores < t].sum() / same_weights.sum(),
        different_weights[scores >= t].sum() / different_weights.sum(),
    )
    actual = (miss * of_own + alarm * of_other) / min(miss, alarm)
    logs = (
        same_weights @ np.log2(1 + np.exp(-scores)) / same_weights.sum()
        + different_weights @ np.log2(1 + np.exp(scores)) / different_weights.sum()
    )
    return cost.min(), actual, logs / 2


def test_trials_equal_errors_over_each_pair():
    fit = discrim.plda("speaker ~ .", UNEVEN)
    actual = fit.trials(NEW, probability=0.1, cost_miss=3.0, replicates=0)["estimate"]
    scores = fit.verify_all(NEW, NEW).to_numpy()
    codes = NEW["speaker"].factorize()[0]
    pairs = np.triu_indices(len(codes), 1)
    same = (codes[:, None] == codes)[pairs]
    expected = brute_errors(scores[pairs], same, np.ones(len(same)), Costs(0.1, 3.0))
    np.testing.assert_allclose(actual.iloc[1:], expected, rtol=1e-12)
    false, true, _ = roc_curve(same, scores[pairs], drop_intermediate=False)
    fine = np.linspace(0, 1, 200_001)
    crossing = fine[np.argmin(np.abs(np.interp(fine, false, true) - (1 - fine)))]
    assert actual["equal error rate"] == pytest.approx(crossing, abs=2e-3)


def test_resampled_classes_are_counted_as_often_as_drawn():
    rng = np.random.default_rng(9)
    codes = np.repeat(np.arange(6), 4)
    scores = np.round(rng.normal(size=(24, 24)) + 2 * (codes[:, None] == codes), 1)
    scores = (scores + scores.T) / 2
    repetitions = np.array([2.0, 0.0, 1.0, 3.0, 0.0, 1.0])
    pairs = PairScores.from_scores(scores, codes)
    pair_index = np.triu_indices(24, 1)
    one, other = codes[pair_index[0]], codes[pair_index[1]]
    weights = np.where(one == other, repetitions[one], repetitions[one] * repetitions[other])
    actual = pairs.error_measures(Costs(0.2, 2.0, 1.0), repetitions)
    expected = brute_errors(scores[pair_index], one == other, weights, Costs(0.2, 2.0, 1.0))
    np.testing.assert_allclose(actual[1:], expected, rtol=1e-12)
    low, high = pairs.bootstrap_limits(Costs(), 0.9, 50, 1)
    assert (low <= high).all()
    assert low[0] < pairs.error_measures(Costs()).eer < high[0]


@pytest.mark.slow
def test_intervals_contain_the_errors_of_all_classes():
    fit = discrim.plda("speaker ~ .", table([5] * 200, 11))
    options = {"probability": 0.3, "cost_miss": 2.0}
    truth = fit.trials(table([6] * 400, 12), replicates=0, **options)["estimate"]
    n_covered = np.zeros(4)
    for seed in range(100):
        actual = fit.trials(table([4] * 60, 1000 + seed), replicates=100, seed=seed, **options)
        n_covered += (actual["low"] <= truth) & (truth <= actual["high"])
    # Three standard errors below 95 in 100, and what a bootstrap of 60 classes falls short.
    assert (n_covered >= 86).all()


@settings(max_examples=3)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 4), m=st.integers(1, 4), k=st.integers(1, 4))
def test_ratios_of_sets_add_up_and_do_not_depend_on_units(seed, n, m, k):
    rng = np.random.default_rng(seed)
    fit = discrim.plda("speaker ~ .", UNEVEN)
    turn, shift = rng.normal(size=(3, 3)) + 2 * np.eye(3), 100 * rng.normal(size=3)

    def moved(data):
        x = data[COLUMNS].to_numpy() @ turn + shift
        return data.assign(**dict(zip(COLUMNS, x.T, strict=True)))

    def ratio(one, other, of=fit, by=lambda data: data):
        a, b = (by(pd.concat(each)).assign(set="x") for each in (one, other))
        return of.verify(a, b, by="set").iloc[0]

    a, b, c = (NEW.sample(size, random_state=seed + size) for size in (n, m, k))
    # p(abc)/p(a)p(bc) p(bc)/p(b)p(c) = p(abc)/p(b)p(ac) p(ac)/p(a)p(c)
    one_way, other_way = ratio([a], [b, c]) + ratio([b], [c]), ratio([b], [a, c]) + ratio([a], [c])
    assert one_way == pytest.approx(other_way, abs=1e-8)
    elsewhere = discrim.plda("speaker ~ .", moved(UNEVEN))
    assert ratio([a], [b], elsewhere, moved) == pytest.approx(ratio([a], [b]), rel=1e-4, abs=1e-4)


def test_trials_without_pairs_are_refused():
    fit = discrim.plda("speaker ~ .", UNEVEN)
    for rows in (NEW[:3], NEW[::3]):
        with pytest.raises(DataError) as caught:
            fit.trials(rows)
        assert "pairs" in str(caught.value)
        assert "class" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.trials(NEW.drop(columns="speaker"))
    assert "speaker" in str(caught.value)
    with_gap = NEW.copy()
    with_gap.loc[0, "a"] = np.nan
    expected = fit.trials(NEW[1:], replicates=20)
    pd.testing.assert_frame_equal(fit.trials(with_gap, replicates=20), expected)


# ---- what is refused, and what is shown


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
def test_invalid_input_is_refused():
    fit = discrim.plda("speaker ~ .", UNEVEN)
    with pytest.raises(DataError) as caught:
        fit.verify(NEW[:3], NEW[:2])
    assert "verify_all" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.verify(NEW[:3], NEW[:6], by="speaker")
    assert "'new0001'" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.verify(NEW, NEW, by="set")
    assert caught.value.columns == ("set",)
    with pytest.raises(DataError) as caught:
        discrim.plda("speaker ~ .", UNEVEN, components=4)
    assert "components=4" in str(caught.value)
    with pytest.raises(CollinearError) as caught:
        discrim.plda("speaker ~ .", UNEVEN.assign(d=UNEVEN["a"] * 2))
    assert caught.value.columns == ("d",)
    lone = UNEVEN.drop_duplicates("speaker")
    with pytest.raises(CollinearError) as caught:
        discrim.plda("speaker ~ .", lone)
    assert "degrees" in str(caught.value)
    assert "freedom" in str(caught.value)
    with pytest.raises(CollinearError) as caught:
        discrim.plda("speaker ~ .", UNEVEN, weights=np.full(len(UNEVEN), 0.2))
    assert "31.2 observations in 40 classes" in str(caught.value)
    assert "estimate" in str(caught.value)
    class_means = UNEVEN.groupby("speaker")["a"].transform("mean")
    with pytest.raises(CollinearError) as caught:
        discrim.plda("speaker ~ .", UNEVEN.assign(own=class_means))
    assert caught.value.columns == ("own",)
    with pytest.warns(ConvergenceWarning):
        discrim.plda("speaker ~ .", UNEVEN, maxiter=2, tol=0.0)
    alike = EVEN[COLUMNS] - EVEN.groupby("speaker")[COLUMNS].transform("mean")
    with pytest.warns(UninformativeFitWarning):
        flat = discrim.plda("speaker ~ .", alike.assign(speaker=EVEN["speaker"]))
    assert flat.rank == 0
    assert not fit.verify(NEW, NEW).isna().any()
    assert flat.verify(NEW, NEW).eq(0).all()
    np.testing.assert_allclose(flat.predict_proba(NEW), np.tile(flat.prior, (len(NEW), 1)))


def test_rows_with_missing_values_have_no_ratio_and_are_left_out_of_sets():
    fit = discrim.plda("speaker ~ .", UNEVEN)
    gap = NEW.copy()
    gap.loc[[0, 3, 4, 5], "b"] = np.nan
    ratios = fit.verify(gap[:6], NEW[6:12])
    assert ratios.isna().tolist() == [True, False, False, True, True, True]
    sets = fit.verify_all(gap[:9], NEW[9:12], by="speaker")
    assert sets.isna().iloc[:, 0].tolist() == [False, True, False]
    pd.testing.assert_frame_equal(sets.iloc[:1], fit.verify_all(NEW[1:3], NEW[9:12], by="speaker"))


@pytest.mark.slow
def test_summary_and_plot():
    fit = discrim.plda("speaker ~ .", UNEVEN)
    text = str(fit.summary())
    assert f"Trace of B{np.trace(fit.between):>28.5g}"[-7:] in text
    assert "number of classes, 40," in text
    axes = fit.plot("trials", data=NEW)
    assert "new rows: equal error rate" in axes.get_title()
    axes = fit.plot("trials", data=table([4] * 300, 5))
    assert "new rows of 250 randomly chosen classes:" in " ".join(axes.get_title().split())
    assert fit.transform(NEW).shape == (36, 3)
    within = fit.transform(UNEVEN)
    centred = within - within.groupby(UNEVEN["speaker"]).transform("mean")
    np.testing.assert_allclose(np.diag(centred.T @ centred) / (len(UNEVEN) - 40), 1, rtol=0.15)
    assert discrim.plda("speaker ~ .", UNEVEN)._fit.options["tol"] == TOL


@pytest.mark.slow
def test_plot_of_large_classes_shows_pairs_of_a_stated_sample_of_their_rows():
    few = discrim.plda("speaker ~ .", table([750, 350, 3], 6))
    axes = few.plot("trials")
    assert "rows of the fit (1,001 chosen at random):" in " ".join(axes.get_title().split())
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert sum(int(label.split()[0].replace(",", "")) for label in labels) == 1001 * 1000 // 2
    assert axes.get_title() == few.plot("trials").get_title()
    many = discrim.plda("speaker ~ .", table([55] * 25, 7))
    title = " ".join(many.plot("trials").get_title().split())
    assert "rows of the fit of 20 randomly chosen classes (1,000 chosen at random):" in title
    pairs, _ = few._score_pairs(None, 1000)
    sampled = pairs.error_measures(Costs())
    complete = few._score_pairs(None)[0].error_measures(Costs())
    assert sampled.eer == pytest.approx(complete.eer, abs=0.03)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda about, own: about["estimates"].update(components=0), "components is 0"),
        (lambda about, own: about["estimates"].update(steps=-1), "number of EM steps"),
        (lambda about, own: about["estimates"].update(tol=2.0), "out of range"),
        (lambda about, own: own["between"].__setitem__(0, -1.0), "variances between classes"),
        (lambda about, own: own["between"].__setitem__(2, 1e9), "variances between classes"),
        (lambda about, own: own["axes"].__setitem__(slice(0, 2), 1.0), "scale is not positive"),
        (lambda about, own: own["scale"].__setitem__(0, -1.0), "scale is not positive"),
        (lambda about, own: own.pop("sphere.centre"), "missing"),
        (lambda about, own: own["sphere.root"].__setitem__((2, 0), 1.0), "whitening root"),
    ],
)
def test_inconsistent_files_are_refused(change, match, tmp_path):
    discrim.plda("speaker ~ .", UNEVEN, normalize=True).save(tmp_path / "fit")
    about, tensors = read_file(tmp_path / "fit")
    tensors = {name: np.array(tensor) for name, tensor in tensors.items()}
    estimates = {name.removeprefix("estimates."): tensors.pop(name) for name in list(tensors) if "." in name}
    change(about, estimates)
    write_file(
        tmp_path / "changed", about, tensors | {f"estimates.{name}": estimates[name] for name in estimates}
    )
    with pytest.raises(DataError, match=match):
        discrim.load(tmp_path / "changed")
