# Writes stepwise.json: stepwise choice with the limits of SPSS DISCRIMINANT, each number from its definition.
#
#   Rscript write_stepwise.R ../../discrim/datasets greedy.wilks.R stepwise.json
#
# F to enter and to remove are those of an analysis of covariance: R's anova() of two lm(), without and with the
# classes, the chosen columns as covariates. A tolerance is a residual sum of squares of lm() over that of the classes
# alone. Wilks' lambda and Rao's V are those of summary(manova()); D2, F of pairs and what is unexplained are
# computed from solve() of the pooled covariance. The second argument is that file of the package klaR (1.7-3),
# whose steps by Wilks' lambda without removal are written too.

library(jsonlite)

args <- commandArgs(trailingOnly = TRUE)
source(args[2])

table_of <- function(name, response, columns) {
  data <- na.omit(read.csv(file.path(args[1], paste0(name, ".csv")), check.names = FALSE))
  columns <- if (is.null(columns)) setdiff(names(data), response) else columns
  list(x = as.matrix(data[columns]), g = factor(data[[response]]))
}

rss <- function(x, j, s, g) {
  design <- cbind(rep(1, nrow(x)), x[, s, drop = FALSE], if (!is.null(g)) model.matrix(~g)[, -1, drop = FALSE])
  sum(lm.fit(design, x[, j])$residuals^2)
}

test <- function(x, g, j, s) {
  full <- rss(x, j, s, g)
  df1 <- nlevels(g) - 1
  df2 <- nrow(x) - nlevels(g) - length(s)
  f <- (rss(x, j, s, NULL) - full) / df1 / (full / df2)
  list(F = f, df1 = df1, df2 = df2, p = pf(f, df1, df2, lower.tail = FALSE))
}

tolerance <- function(x, g, j, s) rss(x, j, setdiff(s, j), g) / rss(x, j, character(), g)

least <- function(x, g, s) min(sapply(s, function(j) tolerance(x, g, j, s)))

pairs_of <- function(x, g, s) {
  means <- apply(x[, s, drop = FALSE], 2, function(column) tapply(column, g, mean))
  within <- crossprod(x[, s, drop = FALSE] - means[g, , drop = FALSE])
  nu <- nrow(x) - nlevels(g)
  n <- as.numeric(table(g))
  rows <- list()
  for (a in seq_len(nlevels(g) - 1)) for (b in (a + 1):nlevels(g)) {
    d <- means[a, ] - means[b, ]
    d2 <- nu * sum(d * solve(within, d))
    q <- length(s)
    f <- (nu - q + 1) * n[a] * n[b] / (nu * q * (n[a] + n[b])) * d2
    rows[[length(rows) + 1]] <- list(
      a = levels(g)[a], b = levels(g)[b], D2 = d2, F = f, p = pf(f, q, nu - q + 1, lower.tail = FALSE)
    )
  }
  rows
}

overall <- function(x, g, s) {
  if (length(s) == 1) {
    f <- test(x, g, s, character())
    lambda <- 1 / (1 + f$F * f$df1 / f$df2)
    return(list(wilks = lambda, F = f$F, df1 = f$df1, df2 = f$df2, p = f$p, rao = f$F * f$df1))
  }
  fit <- manova(x[, s] ~ g)
  w <- summary(fit, test = "Wilks", tol = 0)$stats[1, ]
  h <- summary(fit, test = "Hotelling-Lawley", tol = 0)$stats[1, ]
  list(wilks = w[[2]], F = w[[3]], df1 = w[[4]], df2 = w[[5]], p = w[[6]], rao = h[[2]] * (nrow(x) - nlevels(g)))
}

value <- function(x, g, s, criterion) {
  if (criterion %in% c("wilks", "rao")) return(overall(x, g, s)[[criterion]])
  pairs <- pairs_of(x, g, s)
  d2 <- sapply(pairs, `[[`, "D2")
  switch(criterion, mahalanobis = min(d2), maxminf = min(sapply(pairs, `[[`, "F")), minresid = sum(4 / (4 + d2)))
}

walk <- function(x, g, criterion, f_enter, f_stay, tol) {
  s <- character()
  sign <- if (criterion %in% c("wilks", "minresid")) -1 else 1
  steps <- list()
  repeat {
    outside <- setdiff(colnames(x), s)
    within <- lapply(s, function(j) {
      c(list(term = j, tolerance = tolerance(x, g, j, s)), test(x, g, j, setdiff(s, j)),
        list(value = if (length(s) > 1) value(x, g, setdiff(s, j), criterion) else NA))
    })
    without <- lapply(outside, function(j) {
      c(list(term = j, tolerance = tolerance(x, g, j, s), min_tolerance = least(x, g, c(s, j))), test(x, g, j, s),
        list(value = value(x, g, c(s, j), criterion)))
    })
    state <- list(within = within, without = without)
    if (length(s)) state <- c(state, list(overall = overall(x, g, s), pairs = pairs_of(x, g, s)))
    steps[[length(steps) + 1]] <- state
    f <- sapply(within, `[[`, "F")
    if (length(s) && min(f) < f_stay) {
      move <- s[which.min(f)]
      s <- setdiff(s, move)
      steps[[length(steps)]]$move <- list(action = "removed", term = move)
      next
    }
    ready <- Filter(function(row) row$F >= f_enter && row$min_tolerance >= tol, without)
    if (!length(ready)) break
    move <- ready[[which.max(sign * sapply(ready, `[[`, "value"))]]$term
    s <- c(s, move)
    steps[[length(steps)]]$move <- list(action = "entered", term = move)
  }
  steps
}

leaving <- c("fractal_dimension_worst", "perimeter_mean", "radius_mean", "smoothness_se", "symmetry_mean",
             "texture_worst")
cases <- list(
  list(table = "iris", response = "species", columns = NULL, tolerance = 0.001),
  list(table = "iris", response = "species", columns = NULL, tolerance = 0.4),
  list(table = "wine", response = "cultivar", columns = NULL, tolerance = 0.001),
  list(table = "breast_cancer", response = "diagnosis", columns = leaving, tolerance = 0.001)
)
out <- list()
for (case in cases) {
  data <- table_of(case$table, case$response, case$columns)
  greedy <- as.data.frame(greedy.wilks(data$x, data$g, niveau = 0.01)$results)
  every <- c("wilks", "rao", "mahalanobis", "maxminf", "minresid")
  # Of two classes all criteria choose alike.
  for (criterion in if (nlevels(data$g) == 2) c("wilks", "minresid") else every) {
    steps <- walk(data$x, data$g, criterion, 3.84, 2.71, case$tolerance)
    # Of many columns the last two states only, to be short.
    from <- if (ncol(data$x) > 4) max(1, length(steps) - 1) else 1
    moves <- lapply(steps[-length(steps)], `[[`, "move")
    out[[length(out) + 1]] <- c(case, list(
      criterion = criterion, moves = moves, first = from - 1, states = steps[from:length(steps)]
    ), if (criterion == "wilks") list(greedy = greedy))
  }
}
write(toJSON(out, digits = I(15), auto_unbox = TRUE, na = "null", null = "null"), args[3])
