"""What shared parameters are called to do: the words of every docstring that has one of them.

A docstring begins with these words, and may go on with what is particular to it. Where a parameter of the
same name is another thing, the name is in `OTHER` with the reason.
"""

from __future__ import annotations

OF_FUNCTIONS = {
    "formula": """Response and predictors in R's language of formulas, such as `species ~ .`; the page on
        formulas describes it.""",
    "data": """A DataFrame of pandas, or any other table that narwhals knows. A source is read part by part
        and may be larger than memory: an Arrow dataset or stream, a LazyFrame of polars, a relation of
        DuckDB, a DataFrame of Dask, a path to CSV or Parquet (a file, a folder, a pattern, or a list of
        them), a function that returns an iterator of frames, or such an iterator itself, which can be read
        only once.""",
    "moments": """What `discrim.moments` or `discrim.from_stats` returned, or a sum of such moments, in place
        of formula and data. The fit then holds no observations, and methods that need them take `data=`.""",
    "prior": """Prior probabilities of the classes. None stands for the class proportions of the data.""",
    "weights": """Frequency weights: a weight of 3 stands for three identical rows. A column that is named
        here is not part of ``.`` in the formula.""",
    "levels": """The classes in order: by default that of the categories, or sorted if the response is not
        categorical.""",
    "na_action": """Whether rows with a missing value are dropped and counted, or are an error.""",
    "missing": """"em" also uses the observed values of rows with a missing value: the means and covariances
        are maximum likelihood estimates from all observed values, and the fit predicts such rows from their
        other columns. The rows are then held in memory.""",
    "functions": """Functions of your own that the formula may call, by name. Each is called once with whole
        columns, as Series, and returns for every row a number, a truth value, a text or category, or a row of
        a matrix; a Series or DataFrame is aligned by its index. It has to treat each row alone: a function
        whose value for a row changes with the other rows, such as `x - x.mean()` or ranks, is refused. The
        formula's own `center`, `scale`, `poly` and `bs` remember what they learnt. A row without a category
        counts as missing.""",
    "nu": """Degrees of freedom of method="t". None takes their maximum likelihood estimate between 1 and
        256.""",
    "scatter": """Whether method="t" estimates the covariance by nu/(nu - 2) times the scale matrix, as R's
        MASS::lda does, or by the scale matrix itself, as R's MASS::qda does.""",
    "support_fraction": """Share of the observations, from 0.5 to 1, from which method="mcd" estimates. A
        smaller share tolerates more outliers, and a larger one gives more precise estimates.""",
    "shrinkage": """How much is shrunk: a number from 0 (nothing) to 1, or the rule that chooses the number.
        For "shrunk" the rules are "oas" (the default) and "ledoit-wolf", computed as in scikit-learn from the
        deviations from the class means, and "loo", which takes the number with the smallest leave-one-out
        error (see `path`), and the largest of several such numbers. For "diagonal" the variances are shrunk
        towards their median by a number, by the rule of Opgen-Rhein and Strimmer ("strimmer"), or by "loo";
        by default they are not shrunk.""",
    "standardize": """Whether the columns are divided by their standard deviations within classes before
        "shrunk" or "spherical" is applied, so that their units do not matter. By default they keep their
        units, as in scikit-learn, and a warning is given if their spreads differ greatly. Refits estimate the
        standard deviations again, also in folds; `leave_one_out()` keeps those of the fit.""",
    "folds": """Number of folds of the cross-validation that makes the choice. Or splits as in scikit-learn,
        which are positions of rows of the table; methods that judge the fit by folds then choose again on the
        same splits, without the rows of the fold.""",
    "seed": """Seed of the random assignment of rows to folds. Without it each call assigns them
        differently.""",
    "refit_prior": """Whether a prior of class proportions is estimated again without the rows left out. By
        default models of the distribution within classes keep it, as R's MASS does, while `logistic`, whose
        constants contain it, and `knn` estimate it again. A prior that was given is always kept.""",
    "costs": """Cost of assigning an observation of one class (row) to another (column). Each observation is
        then assigned to the class of smallest expected cost.""",
    "type": """Type of the sums of squares. 1 tests each term after those before it, 2 after all terms that do
        not contain it, and 3 after all others, with contrasts that sum to zero.""",
}
"""Of the public functions: verbs, tests and comparisons."""

OF_METHODS = {
    "prior": """Prior probabilities, in any form that the verb takes; by default those of the fit.""",
    "costs": """Cost of assigning an observation of one class (row) to another (column). Each observation is
        then assigned to the class of smallest expected cost.""",
    "unseen": """What to do with rows that have a level which the fit has not seen: raise an error, or treat
        them as rows with a missing value, with a warning that counts them. An error is the default, except
        for fits of `naive_bayes(unseen="missing")`.""",
    "missing": """Prediction for a row with a missing value: none ("drop"), or that from its other columns,
        with the missing ones integrated out, which models of normal classes and naive Bayes can do (see the
        Notes of `predict`). "drop" is the default, except for fits of `naive_bayes` or with missing="em".""",
    "out": """File of Parquet or CSV, or folder of Parquet files, to which the result is written. The path is
        then returned instead.""",
    "level": """Level of the intervals: 0.95 stands for 95 percent.""",
    "refit_prior": """Whether a prior of class proportions is estimated again without the rows left out. By
        default models of the distribution within classes keep it, as R's MASS does, while `logistic`, whose
        constants contain it, and `knn` estimate it again. A prior that was given is always kept.""",
    "seed": """Seed of the random assignment of rows to folds. Without it each call assigns them
        differently.""",
    "type": """Type of the sums of squares. 1 tests each term after those before it, 2 after all terms that do
        not contain it, and 3 after all others, with contrasts that sum to zero.""",
    "ax": """Axes of matplotlib to draw on; by default those of a new figure.""",
    "colors": """Colours by class, in the order of the classes, or a colormap of matplotlib or its name.""",
    "title": """Title in place of the picture's own; "" for none.""",
}
"""Of the methods of results."""

OTHER = {
    "LogisticResults.wald_test.type": "of tests of log odds, which have no sums of squares",
    "LogisticResults.lr_test.type": "of tests of log odds, which have no sums of squares",
    "PenalizedLogisticResults.lr_test.type": "of tests of log odds, which have no sums of squares",
    "PenalizedLogisticResults.wald_test.type": "of tests of log odds, which have no sums of squares",
    "bayes.prior": "a law has no rows to take proportions of",
    "bayes.seed": "of random points",
    "fda.data": "in memory alone",
    "hyperplane.data": "in memory alone",
    "kernel_density.data": "in memory alone",
    "kernel_lda.data": "in memory alone",
    "knn.data": "in memory alone",
    "perceptron.data": "in memory alone",
    "compare.folds": "the rows are dealt for all fits, and nothing is chosen",
    "Updating.learning_curve.seed": "one that is drawn is kept",
    "plan.seed": "of samples",
    "cross_validate.data": "of a verb or function only",
    "cross_validate.formula": "of a verb only",
    "cross_validate.folds": "the rows are dealt, and nothing is chosen",
    "KernelLDAResults.importance.seed": "of permutations",
    "cross_validate.seed": "one that is drawn is kept",
    "load.functions": "the formula is that of the file",
    "lr_test.seed": "of replicates",
    "manova.seed": "of permutations",
    "mixture.seed": "of partitions",
    "mlm.formula": "the class is among the predictors",
    "naive_bayes.missing": "columns are fitted to the rows that have them",
    "nearest_centroid.prior": "equal by default",
    "perceptron.seed": "of the order of the rows",
    "permanova.data": "in memory alone",
    "permanova.formula": "the class is among the predictors",
    "permanova.seed": "of permutations",
    "rda.folds": "also leave-one-out",
    "rda.standardize": "the identity of a ridge is no sphere",
    "choose.folds": "a number alone",
    "choose.prior": "of every candidate",
    "choose.seed": "of verbs too, and one that is drawn is kept",
    "stepwise.folds": "a number alone",
    "BayesResults.predict.prior": "that of the law",
    "BayesResults.predict_log_proba.prior": "that of the law",
    "BayesResults.predict_proba.prior": "that of the law",
    "BayesResults.sample.seed": "of random numbers",
    "ChosenAnew.assess.prior": "weights of figures",
    "ChosenAnew.cross_validate.seed": "one that is drawn is kept",
    "ChosenAnew.error_rates.prior": "weights of errors",
    "ChosenAnew.error_rates.seed": "of the bootstrap too",
    "CanonicalResults.stability.seed": "of the bootstrap",
    "Judging.assess.prior": "weights of figures",
    "Judging.error_rates.prior": "weights of errors",
    "Judging.error_rates.seed": "of the bootstrap too",
    "MLMResults.hypothesis_ellipse.level": "of Roy's test",
    "MLMResults.plot.level": "of Roy's test",
    "NewRows.estimate_prior.seed": "of the bootstrap",
    "NewRows.posterior_intervals.seed": "of the bootstrap",
    "NewRows.predict_set.level": "of the sets",
    "NewRows.predict_set.seed": "of smoothed sets too",
    "PLDAResults.trials.seed": "of the bootstrap",
    "PLSResults.permutation_test.seed": "of shuffled labels too",
    "PenalizedLogisticResults.tidy.level": "not used",
    "Pictured.plot.level": "of ellipses too",
    "Reported.report.title": "of a page",
    "RobustModel.robust_distances.level": "of a cutoff",
    "SetMethods.predict_set.level": "of the sets",
    "SetMethods.predict_set.seed": "of smoothed sets too",
    "TermCanonicalResults.plot.level": "of Roy's test",
}
"""Parameters that are something else, by function or method, and why."""
