# Golden values of lda() with covariates: covariance analysis by base R and car, and the rule by TULIP and MASS.
#
#   Rscript tests/golden/write_covariates.R TULIP_ADJVEC
#
# reads adjvec.R of R's TULIP 1.0.2 (github.com/cran/TULIP) and writes covariates.json beside this script. The
# table is R's iris.

suppressMessages({library(MASS); library(car); library(jsonlite)})

arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) != 1L) stop("usage: Rscript write_covariates.R TULIP_ADJVEC")
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
source(arguments)

four <- function(large, small) {
  tests <- c("Wilks", "Pillai", "Hotelling-Lawley", "Roy")
  t(sapply(tests, function(test) unlist(anova(large, small, test = test)[2, c(4, 5, 6, 7, 8)])))
}

pair <- function(fit, hypothesis) {
  test <- linearHypothesis(fit, hypothesis)
  e <- test$SSPE; h <- test$SSPH; p <- ncol(e); v <- test$df.residual
  t2 <- v * sum(diag(h %*% solve(e)))
  c(F = t2 * (v - p + 1) / (v * p), df1 = p, df2 = v - p + 1)
}

case <- function(covariates) {
  columns <- setdiff(names(iris)[1:4], covariates)
  x <- as.matrix(iris[columns]); u <- as.matrix(iris[covariates]); y <- iris$Species
  fit <- lm(x ~ y + u); without <- lm(x ~ u); classes <- lm(x ~ y); separate <- lm(x ~ y * u)
  rows <- summary(fit)
  slopes <- lapply(rows, function(one) unname(one$coefficients[-(1:3), , drop = FALSE]))
  levels <- levels(y)
  # The mean of all rows in the place of the covariates.
  at <- lapply(rows, function(one) {
    b <- one$coefficients[, 1]; contrasts <- cbind(1, rbind(0, c(1, 0), c(0, 1)), matrix(colMeans(u), 3, ncol(u), byrow = TRUE))
    cbind(contrasts %*% b, one$sigma * sqrt(diag(contrasts %*% one$cov.unscaled %*% t(contrasts))))
  })
  adjusted <- adjvec(x, u, as.integer(y))
  rule <- lda(adjusted$xres, y, method = "mle")
  list(
    columns = columns, covariates = I(covariates),
    classes = four(fit, without), all = four(fit, classes), parallel = four(separate, fit),
    slopes = slopes, adjusted_means = at, residual = crossprod(residuals(fit)) / fit$df.residual,
    pairs = rbind(pair(fit, "yversicolor = 0"), pair(fit, "yvirginica = 0"), pair(fit, "yversicolor = yvirginica")),
    residuals = unname(adjusted$xres[c(1, 71, 107, 150), ]),
    posterior = unname(predict(rule, adjusted$xres)$posterior[c(1, 71, 107, 150), ])
  )
}

written <- list(versions = list(MASS = as.character(packageVersion("MASS")), car = as.character(packageVersion("car"))),
                R = R.version.string,
                one = case("Sepal.Length"), two = case(c("Sepal.Length", "Petal.Width")))
write_json(written, file.path(dirname(script), "covariates.json"), digits = NA, auto_unbox = TRUE, pretty = 1)
