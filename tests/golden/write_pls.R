# Golden values of partial least squares discriminant analysis, from pls, mdatools and mixOmics.
#
#   Rscript tests/golden/write_pls.R MIXOMICS_R
#
# reads the package's own tables in discrim/datasets and writes pls.json beside this script. MIXOMICS_R is the
# folder R of mixOmics' sources (6.3.2 of CRAN), whose functions are sourced: the package needs others that
# draw pictures. The tests read the JSON only.

suppressMessages({ library(pls); library(mdatools); library(jsonlite); library(matrixStats) })

arguments <- commandArgs(trailingOnly = TRUE)
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- dirname(normalizePath(script))
invisible(Sys.setlocale("LC_COLLATE", "C"))

quiet <- function(call) { utils::capture.output(value <- call); value }

tables <- file.path(here, "..", "..", "discrim", "datasets")
read <- function(name) utils::read.csv(file.path(tables, name), check.names = FALSE)

indicators <- function(y) {
  found <- outer(y, sort(unique(y)), "==") + 0
  colnames(found) <- sort(unique(y))
  found
}

# Largest weight positive in each component: what all that has a sign is multiplied by.
signs_of <- function(w) apply(w, 2, function(v) sign(v[which.max(abs(v))]))
turned <- function(m, s) unname(sweep(unclass(as.matrix(m)), 2, s, `*`))

by_pls <- function(x, y, a, method, scaled) {
  response <- indicators(y)
  centred <- if (scaled) scale(response) else scale(response, scale = FALSE)
  held <- list(x = scale(x), y = matrix(centred, nrow(x)))
  fit <- plsr(y ~ x, ncomp = a, data = held, method = method, center = FALSE, scale = FALSE)
  w <- if (method == "simpls") fit$projection else fit$loading.weights
  w <- unclass(w)
  length <- sqrt(colSums(w^2))
  s <- signs_of(w)
  unit <- if (method == "simpls") length else rep(1, a)
  list(
    weights = turned(w, s / unit), loadings = turned(fit$loadings[, , drop = TRUE], s * unit),
    rotations = turned(fit$projection, s / unit), y_loadings = turned(fit$Yloadings[, , drop = TRUE], s * unit),
    scores = turned(fit$scores[, , drop = TRUE], s / unit), explained = unname(explvar(fit)) / 100
  )
}

by_mdatools <- function(x, y, a) {
  fit <- plsda(x, as.factor(y), ncomp = a, center = TRUE, scale = TRUE, cv = NULL)
  list(
    vip = unname(unclass(vipscores(fit, ncomp = a))),
    fitted = unname((fit$res$cal$y.pred[, a, ] + 1) / 2),
    x_explained = unname(fit$res$cal$xdecomp$expvar) / 100,
    y_explained = unname(fit$res$cal$ydecomp$expvar) / 100
  )
}

by_mixomics <- function(x, y, a) {
  fit <- plsda(x, as.factor(y), ncomp = a, scale = TRUE, tol = 1e-20, max.iter = 10000)
  s <- signs_of(fit$loadings$X)
  predicted <- predict.pls(fit, x, dist = c("max.dist", "centroids.dist"))
  list(
    weights = turned(fit$loadings$X, s), scores = turned(fit$variates$X, s), vip = unname(vip(fit)),
    fitted = unname(predicted$predict[, , a]),
    max = unname(predicted$class$max.dist[, a]), centroid = unname(predicted$class$centroids.dist[, a]),
    x_explained = unname(fit$explained_variance$X)
  )
}

# Q2 by folds, each standardized by the rows outside it: rows i, i + 7, ... of each class in turn.
by_folds <- function(x, y, a, folds) {
  response <- indicators(y)
  position <- ave(seq_along(y), y, FUN = seq_along)
  fold <- (position - 1L) %% folds
  sd <- apply(response, 2, stats::sd)
  press <- numeric(a)
  for (f in unique(fold)) {
    out <- fold == f
    inside <- scale(x[!out, ]); centred <- scale(response[!out, ])
    fit <- plsr(y ~ x, ncomp = a, data = list(x = inside, y = matrix(centred, sum(!out))),
                method = "oscorespls", center = FALSE)
    outside <- scale(x[out, , drop = FALSE], attr(inside, "scaled:center"), attr(inside, "scaled:scale"))
    for (j in seq_len(a)) {
      fitted <- sweep(sweep(matrix(outside %*% coef(fit, ncomp = j)[, , 1], sum(out)), 2,
                            attr(centred, "scaled:scale"), `*`), 2, attr(centred, "scaled:center"), `+`)
      press[j] <- press[j] + sum(sweep(response[out, ] - fitted, 2, sd, `/`)^2)
    }
  }
  total <- sum(sweep(sweep(response, 2, colMeans(response)), 2, sd, `/`)^2)
  list(folds = folds, Q2 = 1 - press / total)
}

mix <- new.env()
if (length(arguments)) {
  for (file in list.files(arguments[1L], "[.]R$", full.names = TRUE)) try(sys.source(file, mix), silent = TRUE)
}

case <- function(table, response, a) {
  table <- table[stats::complete.cases(table), ]
  y <- as.character(table[[response]])
  x <- as.matrix(table[setdiff(names(table), response)])
  found <- list(
    components = a, pls = by_pls(x, y, a, "oscorespls", TRUE), centred = by_pls(x, y, a, "oscorespls", FALSE),
    simpls = by_pls(x, y, a, "simpls", FALSE), mdatools = quiet(by_mdatools(x, y, a)),
    folds = by_folds(x, y, a, 7L)
  )
  if (length(arguments)) {
    environment(by_mixomics) <- list2env(list(signs_of = signs_of, turned = turned), parent = mix)
    parent.env(mix) <- globalenv()
    found$mixomics <- quiet(by_mixomics(x, y, a))
  }
  found
}

out <- list(
  iris = case(read("iris.csv"), "species", 3L),
  wine = case(read("wine.csv")[-(1:30), ], "cultivar", 4L),
  breast_cancer = case(read("breast_cancer.csv")[1:120, ], "diagnosis", 3L)
)
out$versions <- list(R = as.character(getRversion()), pls = as.character(packageVersion("pls")),
                     mdatools = as.character(packageVersion("mdatools")))
write(toJSON(out, digits = I(15), auto_unbox = TRUE), file.path(here, "pls.json"))
