"""Moments without rows that were added, and moments that take in more rows where they are."""

import pickle

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.datasets import load_iris, load_penguins
from discrim.errors import (
    CollinearError,
    DataError,
    DroppedColumnsWarning,
    EmptyClassWarning,
    FormulaError,
    NotSupportedError,
)

IRIS, PENGUINS = load_iris(), load_penguins()
TEXT = IRIS.astype({"species": str})
SHUFFLED = TEXT.sample(frac=1, random_state=5).reset_index(drop=True)
FORMULA = "species ~ ."


def assert_same_moments(a, b, rtol=1e-12):
    assert a.classes.tolist() == b.classes.tolist()
    assert (a.nobs, a.dropped) == (b.nobs, b.dropped)
    np.testing.assert_allclose(a.means, b.means, rtol=rtol)
    if a._scatters != "diagonal":
        np.testing.assert_allclose(a.cov, b.cov, rtol=rtol, atol=rtol)
    if a._scatters != "pooled":
        np.testing.assert_allclose(a.variances, b.variances, rtol=rtol)
    for left, right in zip(a._level_counts.tables, b._level_counts.tables, strict=True):
        np.testing.assert_allclose(left, right, rtol=rtol)


@pytest.mark.parametrize("scatters", ["class", "pooled", "diagonal"])
def test_subtraction_removes_added_rows(scatters):
    formula = "species ~ bill_length_mm + island + sex + log(body_mass_g)"
    days = [PENGUINS.iloc[start::4] for start in range(4)]
    first = discrim.moments(formula, days[0], scatters=scatters)
    held = [first.of(day) for day in days]
    assert_same_moments(sum(held) - held[2], held[0] + held[1] + held[3])
    assert_same_moments(sum(held) - held[2] - held[0], held[1] + held[3])
    assert sum(held).dropped == sum(each.dropped for each in held) > 0
    if scatters != "pooled":
        ours = discrim.naive_bayes(moments=sum(held) - held[2], laplace=1)
        theirs = discrim.naive_bayes(formula, pd.concat([days[j] for j in (0, 1, 3)]), laplace=1)
        np.testing.assert_allclose(ours.predict_log_proba(days[2]), theirs.predict_log_proba(days[2]))


def test_a_class_that_came_with_the_rows_goes_with_them():
    few = SHUFFLED[SHUFFLED["species"] != "setosa"]
    a, b = discrim.moments(FORMULA, few), discrim.moments(FORMULA, SHUFFLED[SHUFFLED["species"] == "setosa"])
    assert (a + b).classes.tolist() == ["setosa", "versicolor", "virginica"]
    assert_same_moments((a + b) - b, a)
    # Classes that were declared stay, and a fit says that they have no rows.
    declared = discrim.moments(FORMULA, IRIS.astype({"species": "category"}))
    left = declared - declared.of(IRIS[:50].astype({"species": "category"}))
    assert left.counts.tolist() == [0, 50, 50]
    with pytest.warns(EmptyClassWarning, match="'setosa'"):
        discrim.lda(moments=left)
    everything = declared - declared
    assert everything.nobs == 0
    assert not everything._moments.scatters.any()


def test_subtraction_of_fractional_weights_removes_levels():
    table = pd.DataFrame({"y": list("aabbab"), "g": list("uvuvuu"), "x": [1.0, 2.0, 4.0, 7.0, 3.0, 5.0]})
    first = discrim.moments("y ~ g + x", table, weights=[0.1, 0.2, 1.0, 1.0, 0.3, 1.0])
    removed = first.of(table[1:2], weights=[0.2])
    left = first - removed
    # 0.2 - 0.2, and of the sums 0.1 + 0.3.
    assert left._level_counts.tables[0][0].tolist() == [0.4, 0.0]


NOT_A_PART = [
    (DataError, "more rows of class 'setosa'", lambda a: a.of(TEXT[:40]) - a.of(TEXT[:50])),
    (DataError, "Unknown class 'rosa'", lambda a: a - a.of(TEXT[:5].assign(species="rosa"))),
    (
        DataError,
        "of class 'setosa' are not part.*another mean",
        lambda a: a.of(TEXT[:25]) - a.of(TEXT[25:50]),
    ),
    (
        DataError,
        "'sepal_length' has larger squares",
        lambda a: a - a.of(TEXT[:20].assign(sepal_length=range(20))),
    ),
    (
        DataError,
        "dropped rows",
        lambda a: a - a.of(TEXT[:9].assign(sepal_width=np.nan)),
    ),
    (DataError, "scatters=", lambda a: a - discrim.moments(FORMULA, TEXT, scatters="pooled")),
    (FormulaError, "cannot be combined", lambda a: a - discrim.moments("species ~ petal_width", TEXT)),
    (DataError, "weights of class 'setosa'", lambda a: a - a.of(TEXT[:50], weights=[0.5] * 50)),
    (TypeError, "unsupported operand", lambda a: a - 1),
]


@pytest.mark.parametrize(("error", "said", "ask"), NOT_A_PART)
def test_only_added_moments_can_be_subtracted(error, said, ask):
    with pytest.raises(error, match=said):
        ask(discrim.moments(FORMULA, TEXT))


def test_unknown_levels_cannot_be_subtracted():
    first = discrim.moments("species ~ island + body_mass_g", PENGUINS)
    other = PENGUINS.assign(island=PENGUINS["island"].where(PENGUINS["species"] != "Adelie", "Dream"))
    with pytest.raises(DataError) as caught:
        first - first.of(other[PENGUINS["species"] == "Adelie"][:100])
    assert "more rows of a level" in str(caught.value)
    assert "level" in str(caught.value)


def test_subtraction_names_class_and_column_lost_in_rounding():
    near = SHUFFLED[:75].assign(petal_width=lambda d: 1 + 1e-9 * d["petal_width"])
    both = discrim.moments(FORMULA, near)
    far = both.of(SHUFFLED[75:].assign(petal_width=lambda d: 100 * d["petal_width"]))
    with pytest.raises(NotSupportedError) as caught:
        both + far - far
    assert "'petal_width'" in str(caught.value)
    assert "'setosa'" in str(caught.value)
    # The way out.
    assert both.of(near).nobs == 75


@pytest.mark.parametrize("scatters", ["class", "pooled", "diagonal"])
def test_update_equals_the_sum(scatters):
    summed = discrim.moments(FORMULA, SHUFFLED[:30], scatters=scatters)
    before = pickle.loads(pickle.dumps(summed))
    alias, new = summed, summed + summed.of(SHUFFLED[30:])
    assert summed.update(SHUFFLED[30:]) is None
    assert_same_moments(summed, new, rtol=0)
    # What was made of them before is not changed by it.
    assert_same_moments(new - new.of(SHUFFLED[30:]), before)
    assert alias is summed
    assert before.nobs == 30
    with pytest.raises(DataError):
        summed.update(SHUFFLED.drop(columns="petal_width"))
    assert_same_moments(summed, new, rtol=0)


def nearly_collinear(share, rows):
    """Return columns of which the last is nearly the sum of the others in some rows."""
    rng = np.random.default_rng(11)
    x = rng.standard_normal((300, 3))
    x[rows, 2] = x[rows, 0] - x[rows, 1] + np.sqrt(share) * x[rows, 2]
    y = rng.choice(list("ab"), 300)
    x[:, 1] += y == "a"
    return pd.DataFrame(x, columns=list("uvw")).assign(y=y)


@pytest.mark.filterwarnings("ignore::discrim.errors.CollinearWarning")
@pytest.mark.parametrize("scatters", ["class", "pooled"])
@pytest.mark.parametrize("share", [1e-4, 1e-8, 1e-14])
def test_directions_in_which_rows_vary_little_keep_their_digits(share, scatters):
    table = nearly_collinear(share, slice(None))
    a = discrim.moments("y ~ u + v + w", table[:150], scatters=scatters)
    b = a.of(table[150:])
    ours, theirs = discrim.lda(moments=(a + b) - b), discrim.lda("y ~ u + v + w", table[:150])
    # The rounding of a QR of so many rows, times the condition of the columns.
    rounding = np.finfo(float).eps * np.sqrt(len(table))
    np.testing.assert_allclose(ours.coef, theirs.coef, rtol=10 * rounding / np.sqrt(share))


@pytest.mark.parametrize("scatters", ["class", "pooled"])
@pytest.mark.parametrize("share", [0.0, 1e-16, 1e-13])
def test_subtraction_names_columns_that_become_collinear(share, scatters):
    table = nearly_collinear(share, slice(0, 150))
    first = discrim.moments("y ~ u + v + w", table, scatters=scatters)
    left = first - first.of(table[150:])
    with pytest.raises(CollinearError) as caught:
        discrim.lda(moments=left)
    assert caught.value.columns == ("w",)
    if scatters == "class":
        assert discrim.rda(moments=left, alpha=0.5, gamma=0.5).nobs == 150


def test_subtraction_removes_levels():
    penguins = PENGUINS.dropna()
    first = discrim.moments("species ~ island + bill_length_mm", penguins)
    left = first - first.of(penguins[penguins["island"] == "Biscoe"])
    rest = penguins[penguins["island"] != "Biscoe"]
    # Of two islands one column says what the other does.
    with pytest.warns(DroppedColumnsWarning, match="'island"):
        ours = discrim.lda(moments=left, collinear="drop")
    theirs = discrim.lda("species ~ C(island, levels=['Dream', 'Torgersen']) + bill_length_mm", rest)
    np.testing.assert_allclose(ours.predict_log_proba(rest), theirs.predict_log_proba(rest), rtol=1e-9)
    naive = discrim.naive_bayes(moments=left, laplace=1)
    dream, torgersen = rest.loc[rest["species"] == "Adelie", "island"].value_counts()[["Dream", "Torgersen"]]
    expected = np.array([1, dream + 1, torgersen + 1]) / (dream + torgersen + 3)
    np.testing.assert_allclose(naive.tables["island"].loc["Adelie"], expected, rtol=1e-14)
