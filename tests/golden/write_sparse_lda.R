# Golden values of sparse discriminant analysis, from sparseLDA, and of two classes from glmnet.
#
#   Rscript tests/golden/write_sparse_lda.R
#
# reads the package's own tables in discrim/datasets and writes sparse_lda.json beside this script.
#
# sparseLDA's sda() takes columns as they are, so that they are brought to mean zero and sum of squares one by
# its normalize(), new rows too. Its scores start at random and its turns end at a tolerance: the tolerance is
# small here, and of ten starts that of least cost is kept.
#
# TULIP's dsda(standardize = TRUE) (Mai, Zou & Yuan, 2012) is glmnet of the codes 1 and 2, and the linear
# discriminant analysis of what it predicts. It is called here as such, as dsda() gives glmnet no penalty of
# its own and interpolates between those of the path.

suppressMessages(library(sparseLDA))
suppressMessages(library(glmnet))
suppressMessages(library(MASS))
suppressMessages(library(jsonlite))

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- dirname(normalizePath(script))
data_dir <- file.path(here, "..", "..", "discrim", "datasets")
invisible(Sys.setlocale("LC_COLLATE", "C"))
set.seed(1)

table_of <- function(name, response) {
  table <- utils::read.csv(file.path(data_dir, paste0(name, ".csv")), check.names = FALSE)
  table <- table[stats::complete.cases(table), ]
  list(x = as.matrix(table[setdiff(names(table), response)]), y = factor(as.character(table[[response]])))
}

# More columns than rows, of numbers with three decimals.
wide <- function(n, p, k) {
  y <- factor(rep(letters[seq_len(k)], length.out = n))
  shift <- matrix(stats::rnorm(k * p) * (stats::runif(k * p) < 0.1), k)
  list(x = round(matrix(stats::rnorm(n * p), n) + 1.5 * shift[as.integer(y), ], 3), y = y)
}

case <- function(data, ridge, stop) {
  x <- normalize(data$x)$Xc
  n <- nrow(x)
  # stop below zero: numbers of columns; else a penalty as discrim has it.
  asked <- if (stop[1] < 0) stop else 2 * sqrt(n) * stop
  k <- nlevels(data$y)
  fits <- lapply(1:10, function(i) {
    sda(x, data$y, lambda = ridge, stop = asked, tol = 1e-15, maxIte = 2000)
  })
  # The first direction is sought first, so that the least cost of it comes first.
  penalty <- if (stop[1] < 0) NULL else rep_len(asked, k - 1)
  cost <- sapply(fits, function(fit) {
    first <- fit$rss[1]
    if (is.null(penalty)) first else first + penalty[1] * sum(abs(fit$beta[, 1]))
  })
  fit <- fits[[which.min(cost)]]
  beta <- matrix(0, ncol(x), ncol(fit$beta))
  beta[fit$varIndex, ] <- fit$beta
  # Of columns whose mean square is one.
  beta <- beta / sqrt(n)
  # By numbers of columns elasticnet does not undo its scaling by sqrt(1 + ridge).
  if (stop[1] < 0) beta <- beta / sqrt(1 + ridge)
  predicted <- predict(fit, x)
  list(
    ridge = ridge, stop = stop, coef = unname(beta), scores = unname(fit$theta),
    posterior = unname(predicted$posterior), label = as.character(predicted$class)
  )
}

two <- function(data, penalty) {
  x <- data$x
  n <- table(data$y)
  total <- sum(n)
  # Standard deviation of the codes, which the penalty and the coefficients are in units of.
  unit <- sqrt(prod(n)) / total
  fit <- glmnet(x, as.integer(data$y), lambda = penalty * unit, thresh = 1e-24, maxit = 1e8)
  beta <- as.numeric(fit$beta)
  scores <- x %*% beta
  rule <- lda(scores, data$y)
  predicted <- predict(rule, scores)
  list(
    penalty = penalty, coef = beta / unit, posterior = unname(predicted$posterior)
  )
}

iris3 <- table_of("iris", "species")
wine <- table_of("wine", "cultivar")
cancer <- table_of("breast_cancer", "diagnosis")
narrow <- wide(40, 60, 3)
pair <- wide(30, 50, 2)
out <- list(
  iris = case(iris3, 1e-6, c(0.2, 0.2)),
  iris_columns = case(iris3, 1e-6, c(-2, -1)),
  wine = case(wine, 1e-6, c(0.1, 0.1)),
  wine_ridge = case(wine, 0.5, c(0.05, 0.02)),
  wine_columns = case(wine, 1e-6, c(-5, -4)),
  cancer_columns = case(cancer, 1e-6, -6),
  wide = case(narrow, 1e-6, c(0.3, 0.3)),
  wide_columns = case(narrow, 1e-3, c(-6, -5))
)
pairs <- list(
  cancer = two(cancer, 0.02), cancer_small = two(cancer, 0.001), wide = two(pair, 0.2)
)
tables <- list(
  wide = list(x = unname(narrow$x), y = as.character(narrow$y)),
  pair = list(x = unname(pair$x), y = as.character(pair$y))
)
versions <- list(
  R = as.character(getRversion()), sparseLDA = as.character(packageVersion("sparseLDA")),
  elasticnet = as.character(packageVersion("elasticnet")), glmnet = as.character(packageVersion("glmnet"))
)
write_json(list(versions = versions, cases = out, pairs = pairs, tables = tables),
           file.path(here, "sparse_lda.json"), digits = NA, auto_unbox = TRUE, matrix = "rowmajor")
