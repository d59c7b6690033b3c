# Golden values of sparse and multilevel partial least squares discriminant analysis, from mixOmics.
#
#   Rscript tests/golden/write_splsda.R MIXOMICS_R
#
# reads the package's own tables in discrim/datasets and writes splsda.json beside this script. MIXOMICS_R is the folder
# R of mixOmics' sources (6.35.2), whose functions are sourced: the package needs others that draw pictures. The tests
# read the JSON only.

suppressMessages({ library(jsonlite); library(matrixStats) })

arguments <- commandArgs(trailingOnly = TRUE)
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- dirname(normalizePath(script))
invisible(Sys.setlocale("LC_COLLATE", "C"))

mix <- new.env()
for (file in list.files(arguments[1L], "[.][Rr]$", full.names = TRUE)) try(sys.source(file, mix), silent = TRUE)
# Of RSpectra, which is not needed for the first singular vectors of small matrices.
assign("svds", function(x, k, nu, nv, ...) { found <- svd(x, nu, nv); found$d <- found$d[seq_len(k)]; found }, mix)
signs_of <- function(w) apply(w, 2, function(v) sign(v[which.max(abs(v))]))
turned <- function(m, s) unname(sweep(unclass(as.matrix(m)), 2, s, `*`))

tables <- file.path(here, "..", "..", "discrim", "datasets")
read <- function(name) utils::read.csv(file.path(tables, name), check.names = FALSE)

case <- function(table, response, keep, subject = NULL) {
  y <- as.character(table[[response]])
  x <- as.matrix(table[setdiff(names(table), response)])
  design <- if (is.null(subject)) NULL else data.frame(sample = subject)
  fit <- suppressMessages(splsda(x, as.factor(y), ncomp = length(keep), keepX = keep, tol = 1e-24, max.iter = 1e5,
                                 multilevel = design))
  s <- signs_of(fit$loadings$X)
  own <- if (is.null(subject)) x else suppressMessages(withinVariation(x, design))
  predicted <- predict(fit, x, dist = c("max.dist", "centroids.dist"), multilevel = design)
  list(
    keep = keep, weights = turned(fit$loadings$X, s), scores = turned(fit$variates$X, s), vip = unname(vip(fit)),
    explained = unname(fit$prop_expl_var$X), fitted = unname(predicted$predict[, , length(keep)]),
    max = unname(predicted$class$max.dist[, length(keep)]),
    centroid = unname(predicted$class$centroids.dist[, length(keep)]), means = unname(colMeans(own))
  )
}
predict <- function(...) predict.pls(...)
for (name in c("case", "predict")) {
  function_of <- get(name)
  environment(function_of) <- mix
  assign(name, function_of)
}
for (name in c("signs_of", "turned", "predict")) assign(name, get(name), mix)
predict.pls <- get("predict.mixo_pls", mix)
assign("predict.pls", predict.pls, mix)
parent.env(mix) <- globalenv()

iris <- read("iris.csv")
out <- list(
  iris = case(iris, "species", c(2L, 3L)),
  wine = case(read("wine.csv")[-(1:30), ], "cultivar", c(5L, 4L, 3L)),
  breast_cancer = case(read("breast_cancer.csv")[1:120, ], "diagnosis", c(6L, 10L)),
  repeated = case(iris, "species", c(2L, 4L), rep(1:50, 3))
)
out$versions <- list(R = as.character(getRversion()), mixOmics = "6.35.2")
write(toJSON(out, digits = I(15), auto_unbox = TRUE), file.path(here, "splsda.json"))
