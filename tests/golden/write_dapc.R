# Golden values of discriminant analysis of principal components, from adegenet.
#
#   Rscript tests/golden/write_dapc.R
#
# reads the package's own tables in discrim/datasets and writes dapc.json beside this script. The tests read the
# JSON only. The splits of the cross-validation are given, and the axes are those of the rows to learn from;
# adegenet's xvalDapc takes those of all rows instead.

suppressMessages({ library(adegenet); library(jsonlite) })

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- dirname(normalizePath(script))
invisible(Sys.setlocale("LC_COLLATE", "C"))

read <- function(name) utils::read.csv(file.path(here, "..", "..", "discrim", "datasets", name))

# Largest coefficient positive: what all that has a sign is multiplied by.
signs_of <- function(w) apply(w, 2, function(v) sign(v[which.max(abs(v))]))
turned <- function(m, s) unname(sweep(as.matrix(m), 2, s, `*`))

case <- function(name, response, n.pca, n.da, scale, rows = NULL) {
  table <- read(name)
  if (!is.null(rows)) table <- table[rows, ]
  x <- table[, setdiff(names(table), response)]
  y <- factor(table[[response]])
  fit <- dapc(x, y, n.pca = n.pca, n.da = n.da, scale = scale, pca.info = TRUE, var.loadings = TRUE)
  axes <- as.matrix(fit$pca.loadings)
  coefficients <- fit$var.load / fit$pca.norm
  s <- signs_of(fit$var.load)
  folds <- lapply(1:5, function(f) which(seq_len(nrow(x)) %% 5 == f - 1))
  missed <- sapply(folds, function(out) {
    part <- dapc(x[-out, ], y[-out], n.pca = n.pca, n.da = n.da, scale = scale)
    sum(predict(part, newdata = x[out, ])$assign != y[out])
  })
  list(
    table = sub(".csv", "", name, fixed = TRUE), response = response, rows = rows - 1, components = n.pca,
    ncomp = n.da, standardize = scale, share = fit$var, eigenvalues = fit$eig,
    loadings = turned(axes, signs_of(axes)), shares = (fit$pca.eig / sum(fit$pca.eig))[1:n.pca],
    coefficients = turned(coefficients, s), coordinates = turned(fit$ind.coord, s),
    posterior = unname(as.matrix(fit$posterior)), assigned = as.character(fit$assign), missed = missed
  )
}

cases <- list(
  case("iris.csv", "species", 2, 2, FALSE),
  case("iris.csv", "species", 3, 1, TRUE),
  case("wine.csv", "cultivar", 5, 2, TRUE),
  case("wine.csv", "cultivar", 1, 1, FALSE),
  case("breast_cancer.csv", "diagnosis", 12, 1, TRUE, rows = seq(1, 569, by = 23))
)
write_json(cases, file.path(here, "dapc.json"), digits = NA, auto_unbox = TRUE)
