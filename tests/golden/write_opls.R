# Golden values of orthogonal partial least squares, from ropls.
#
#   Rscript tests/golden/write_opls.R ROPLS_R
#
# reads the package's own tables in discrim/datasets and writes opls.json beside this script. ROPLS_R is the folder R
# of ropls' sources (1.37.6 of Bioconductor), whose expressions are evaluated one by one: those that draw or that need
# other packages are passed over. The tests read the JSON only.

suppressMessages({ library(methods); library(jsonlite) })

arguments <- commandArgs(trailingOnly = TRUE)
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- dirname(normalizePath(script))
invisible(Sys.setlocale("LC_COLLATE", "C"))

invisible(setGeneric("view", function(x, ...) standardGeneric("view")))
for (file in c("allClasses.R", "allGenerics.R", "opls-functions.R", "helpers.R", "opls-methods.R")) {
  for (each in parse(file.path(arguments[1L], file))) {
    try(suppressWarnings(suppressMessages(eval(each, globalenv()))), silent = TRUE)
  }
}
fitted_by <- function(x, y, o) {
  quiet <- list(fig.pdfC = "none", info.txtC = "none", permI = 0, crossvalI = 5)
  do.call(opls, c(list(x, y, predI = 1, orthoI = o), quiet))
}

tables <- file.path(here, "..", "..", "discrim", "datasets")
read <- function(name) utils::read.csv(file.path(tables, name), check.names = FALSE)

# Largest weight positive in each component.
signs_of <- function(w) apply(w, 2, function(v) sign(v[which.max(abs(v))]))
turned <- function(m, s) unname(sweep(as.matrix(m), 2, s, `*`))

# Q2 with all that is learnt learnt outside each fold, by ropls' own fits and predictions.
by_folds <- function(x, y, o, folds) {
  fold <- (seq_along(y) - 1L) %% folds
  second <- sort(unique(y))[2L]
  actual <- (y == second) + 0
  press <- numeric(o)
  for (f in unique(fold)) {
    out <- fold == f
    for (j in seq_len(o)) {
      fit <- fitted_by(x[!out, ], y[!out], j)
      rest <- scale(x[out, ], fit@xMeanVn, fit@xSdVn)
      for (i in seq_len(j)) {
        rest <- rest - tcrossprod(rest %*% fit@orthoWeightMN[, i], fit@orthoLoadingMN[, i])
      }
      predicted <- drop(rest %*% fit@coefficientMN) * fit@ySdVn + fit@yMeanVn
      press[j] <- press[j] + sum((actual[out] - predicted)^2)
    }
  }
  list(folds = folds, Q2 = 1 - press / sum((actual - mean(actual))^2))
}

case <- function(table, response, o) {
  y <- as.character(table[[response]])
  x <- as.matrix(table[setdiff(names(table), response)])
  fit <- fitted_by(x, y, o)
  one <- signs_of(fit@weightMN)
  others <- signs_of(fit@orthoWeightMN)
  residual <- (y == sort(unique(y))[2L]) - drop(fit@suppLs$yPreMN)
  both <- c(one, others)
  list(
    orthogonal = o,
    weights = turned(cbind(fit@weightMN, fit@orthoWeightMN), both),
    loadings = turned(cbind(fit@loadingMN, fit@orthoLoadingMN), both),
    scores = turned(cbind(fit@scoreMN, fit@orthoScoreMN), both),
    fitted = unname(drop(fit@suppLs$yPreMN)), vip = unname(fit@vipVn), orthogonal_vip = unname(fit@orthoVipVn),
    rounded = list(R2X = fit@summaryDF[["R2X(cum)"]], R2Y = fit@summaryDF[["R2Y(cum)"]],
                   RMSEE = fit@summaryDF[["RMSEE"]]),
    folds = by_folds(x, y, o, 5L)
  )
}

wine <- read("wine.csv")
out <- list(
  wine = case(wine[wine$cultivar != "grignolino", ], "cultivar", 3L),
  breast_cancer = case(read("breast_cancer.csv")[1:90, ], "diagnosis", 2L)
)
out$versions <- list(R = as.character(getRversion()), ropls = "1.37.6")
write(toJSON(out, digits = I(15), auto_unbox = TRUE), file.path(here, "opls.json"))
