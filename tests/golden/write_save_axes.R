# Golden values of sliced average variance estimation, from R's dr.
#
#   Rscript tests/golden/write_save_axes.R path/to/dr/R/dr.R
#
# reads the package's own tables in discrim/datasets and writes save_axes.json beside this script. The tests read
# the JSON only. Of dr, which need not be installed, the file of its functions is sourced.

suppressMessages({ library(MASS); library(jsonlite) })

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- dirname(normalizePath(script))
invisible(Sys.setlocale("LC_COLLATE", "C"))
source(commandArgs(trailingOnly = TRUE)[1])

case <- function(name, response, ncomp) {
  table <- utils::read.csv(file.path(here, "..", "..", "discrim", "datasets", paste0(name, ".csv")))
  x <- as.matrix(table[, setdiff(names(table), response)])
  y <- factor(table[[response]])
  fit <- dr.compute(x, as.numeric(y), rep(1, nrow(x)), method = "save", nslices = nlevels(y))
  stopifnot(fit$slice.info$nslices == nlevels(y))
  axes <- fit$evectors[colnames(x), , drop = FALSE]
  scores <- x %*% axes[, seq_len(ncomp), drop = FALSE]
  own <- qda(scores, y)
  list(
    table = name, response = response, ncomp = ncomp, eigenvalues = fit$evalues,
    axes = unname(axes), posterior = unname(predict(own)$posterior)
  )
}

cases <- list(
  case("iris", "species", 1), case("iris", "species", 2), case("wine", "cultivar", 2),
  case("wine", "cultivar", 5)
)
write_json(cases, file.path(here, "save_axes.json"), digits = NA, auto_unbox = TRUE)
