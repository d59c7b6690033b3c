# Golden values of nearest shrunken centroids, from pamr.
#
#   Rscript tests/golden/write_pamr.R GENES_DIR
#
# reads the package's own tables in discrim/datasets and writes pamr.json beside this script. With GENES_DIR,
# which holds golub.csv and khan.csv (a column `class`, a column `split`, then the genes; written with
# pandas from the npz files of that name), their paths are written as well. The tests read the JSON only.

suppressMessages(library(pamr))
suppressMessages(library(jsonlite))

arguments <- commandArgs(trailingOnly = TRUE)
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- dirname(normalizePath(script))
invisible(Sys.setlocale("LC_COLLATE", "C"))

quiet <- function(call) { utils::capture.output(value <- call); value }

# Rows i, i + 10, ... of each class in turn: any partition serves, as long as both sides have the same.
folds_of <- function(y) {
  position <- ave(seq_along(y), y, FUN = seq_along)
  split(seq_along(y), (position - 1L) %% 10L)
}

case <- function(table, response, threshold, offset.percent = 50, prior = NULL) {
  table <- table[stats::complete.cases(table), ]
  y <- as.character(table[[response]])
  x <- t(as.matrix(table[setdiff(names(table), response)]))
  dimnames(x) <- list(rownames(x), NULL)
  data <- list(x = x, y = y)
  arguments <- list(data = data, threshold = threshold, offset.percent = offset.percent)
  if (!is.null(prior)) arguments$prior <- prior
  fit <- quiet(do.call(pamr.train, arguments))
  folds <- folds_of(y)
  # pamr.cv keeps M_k of all rows in every fold; here each fold is a fit of its own.
  wrong <- Reduce(`+`, lapply(folds, function(fold) {
    less <- list(x = x[, -fold], y = y[-fold])
    part <- quiet(pamr.train(less, threshold = threshold, offset.percent = offset.percent,
                             prior = as.numeric(fit$prior), remove.zeros = FALSE))
    vapply(threshold, function(at) {
      sum(as.character(pamr.predict(part, x[, fold, drop = FALSE], threshold = at)) != y[fold])
    }, 0L)
  }))
  at <- threshold[length(threshold) %/% 2L + 1L]
  list(
    classes = sort(unique(y)), threshold = threshold, offset = unname(fit$offset),
    offset_percent = offset.percent, prior = unname(as.numeric(fit$prior)), sd_plus_offset = unname(fit$sd),
    overall = unname(fit$centroid.overall), nonzero = fit$nonzero, errors = fit$errors,
    cv_errors = wrong, folds = unname(lapply(folds, function(f) f - 1L)),
    at = at,
    centroids = unname(t(pamr.predict(fit, x, threshold = at, type = "centroid"))),
    posterior = unname(pamr.predict(fit, x, threshold = at, type = "posterior"))
  )
}

genes <- function(file, thresholds) {
  table <- utils::read.csv(file, check.names = FALSE)
  train <- table$split == "train"
  x <- t(as.matrix(table[-(1:2)]))
  y <- as.character(table$class)
  fit <- quiet(pamr.train(list(x = x[, train], y = y[train]), threshold = thresholds))
  wrong <- vapply(thresholds, function(at) {
    sum(as.character(pamr.predict(fit, x[, !train], threshold = at)) != y[!train])
  }, 0L)
  list(threshold = thresholds, offset = unname(fit$offset), nonzero = fit$nonzero, train_errors = fit$errors,
       test_errors = wrong)
}

tables <- file.path(here, "..", "..", "discrim", "datasets")
read <- function(name) utils::read.csv(file.path(tables, name), check.names = FALSE)
out <- list(
  iris = case(read("iris.csv"), "species", c(0, 1, 3, 8, 12)),
  iris_prior = case(read("iris.csv")[-(1:30), ], "species", c(0, 2, 4, 6), prior = c(0.2, 0.3, 0.5)),
  wine = case(read("wine.csv"), "cultivar", seq(0, 9, by = 1)),
  wine_unequal = case(read("wine.csv")[-(1:40), ], "cultivar", seq(0, 7, by = 0.5), offset.percent = 0),
  breast_cancer = case(read("breast_cancer.csv"), "diagnosis", seq(0, 20, by = 2))
)
if (length(arguments)) {
  out$golub <- genes(file.path(arguments[1L], "golub.csv"), seq(0, 9, by = 0.5))
  out$khan <- genes(file.path(arguments[1L], "khan.csv"), c(0, 1, 2, 3, 4, 4.34, 5, 6))
}
out <- list(R = R.version.string, pamr = as.character(utils::packageVersion("pamr")), cases = out)
writeLines(toJSON(out, digits = NA, auto_unbox = TRUE, pretty = FALSE), file.path(here, "pamr.json"))
