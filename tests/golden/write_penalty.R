# Golden values of penalized logistic regression, from glmnet at a tolerance that leaves ten digits.
#
#   Rscript tests/golden/write_penalty.R DATA_DIR
#
# reads DATA_DIR/classic/*.csv.gz and the tables of discrim/datasets, and writes penalty.json beside this script,
# numbers with 17 significant digits. Of two classes the family is binomial, of more multinomial, ungrouped.
# Coefficients are those of the columns' own units; lambda is that of standardized ones, as glmnet has it.

suppressMessages({library(glmnet); library(jsonlite)})

arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) != 1L) stop("usage: Rscript write_penalty.R DATA_DIR")
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
bundled <- file.path(dirname(script), "..", "..", "discrim", "datasets")
invisible(Sys.setlocale("LC_COLLATE", "C"))
glmnet.control(fdev = 0, devmax = 1, epsnr = 1e-15, mxitnr = 1000, mnlam = 1)

table_of <- function(file, columns) {
  path <- file.path(bundled, paste0(file, ".csv"))
  if (!file.exists(path)) path <- file.path(arguments, "classic", paste0(file, ".csv.gz"))
  data <- read.csv(path, stringsAsFactors = TRUE)
  if (is.null(columns)) data[complete.cases(data), ] else data[complete.cases(data[columns]), columns]
}
rows_of <- function(x) unname(lapply(seq_len(nrow(x)), function(i) unname(x[i, ])))
family_of <- function(y) if (nlevels(y) == 2) "binomial" else "multinomial"

# Coefficients of one lambda: a list by function of the constant and the slopes.
coefficients_of <- function(fit, s) {
  found <- coef(fit, s = s)
  found <- if (is.list(found)) found else list(found)
  unname(lapply(found, function(one) unname(as.vector(one))))
}

# The least lambda at which every slope is zero; of a ridge that of a share of 0.001, as glmnet takes it.
largest <- function(x, y, weights, alpha) {
  share <- weights / sum(weights)
  centred <- sweep(x, 2, colSums(share * x))
  scaled <- sweep(centred, 2, sqrt(colSums(share * centred^2)), "/")
  member <- outer(y, levels(y), "==") * 1
  if (nlevels(y) == 2) member <- member[, 2, drop = FALSE]
  max(abs(crossprod(scaled, share * member))) / max(alpha, 0.001)
}

one <- function(file, response, columns, alpha, shares, weighted = FALSE) {
  data <- table_of(file, if (is.null(columns)) NULL else c(response, columns))
  columns <- setdiff(names(data), response)
  y <- droplevels(data[[response]]); x <- as.matrix(data[columns])
  weights <- if (weighted) 1 + seq_len(nrow(x)) %% 3 else rep(1, nrow(x))
  given <- list(x = x, y = y, family = family_of(y), alpha = alpha, weights = weights)
  top <- largest(x, y, weights, alpha)
  # Warm starts from above; the values are those of the last lambdas.
  lambdas <- sort(unique(c(top * 0.7^(0:30), top * shares)), decreasing = TRUE)
  fit <- do.call(glmnet, c(given, list(lambda = lambdas, thresh = 1e-16, maxit = 3e6)))
  # Of classes that are separated the last lambdas take glmnet more passes than these.
  shares <- shares[!is.na(match(top * shares, fit$lambda))]
  list(file = file, response = response, columns = I(columns), alpha = alpha, weighted = weighted,
       nobs = nrow(x), top = top, strengths = I(top * shares),
       explained = I(fit$dev.ratio[match(top * shares, fit$lambda)]),
       coef = lapply(top * shares, function(s) coefficients_of(fit, s)))
}

# Ten folds that are dealt in turn, on the lambdas that are given.
folded <- function(file, response, columns, alpha, count) {
  data <- table_of(file, c(response, columns))
  y <- droplevels(data[[response]]); x <- as.matrix(data[columns])
  id <- (seq_len(nrow(x)) - 1) %% 10 + 1
  top <- largest(x, y, rep(1, nrow(x)), alpha)
  lambdas <- top * 10^(-3 * (seq_len(count) - 1) / (count - 1))
  run <- function(measure) cv.glmnet(x, y, family = family_of(y), alpha = alpha, lambda = lambdas, foldid = id,
                                     type.measure = measure, thresh = 1e-14, maxit = 1e7)
  deviance <- run("deviance"); class <- run("class")
  list(file = file, response = response, columns = I(columns), alpha = alpha, nobs = nrow(x),
       strengths = I(lambdas), nonzero = I(unname(deviance$nzero)), deviance = I(unname(deviance$cvm)),
       se = I(unname(deviance$cvsd)), error = I(unname(class$cvm)), min = deviance$lambda.min,
       one_se = deviance$lambda.1se)
}

pima <- c("npreg", "glu", "bp", "skin", "bmi", "ped", "age")
iris4 <- c("sepal_length", "sepal_width", "petal_length", "petal_width")
bill <- c("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")
shares <- c(0.5, 0.1, 0.01, 0.001)
cases <- list(
  fits = list(
    pima_lasso = one("MASS_Pima.tr", "type", pima, 1, shares),
    pima_ridge = one("MASS_Pima.tr", "type", pima, 0, shares / 100),
    pima_mixed = one("MASS_Pima.tr", "type", pima, 0.3, shares, weighted = TRUE),
    tumours_lasso = one("breast_cancer", "diagnosis", NULL, 1, shares[1:3]),
    tumours_ridge = one("breast_cancer", "diagnosis", NULL, 0, shares / 100),
    iris_lasso = one("iris", "species", iris4, 1, shares),
    iris_ridge = one("iris", "species", iris4, 0, shares / 100),
    iris_mixed = one("iris", "species", iris4, 0.5, shares, weighted = TRUE),
    island_lasso = one("penguins", "island", bill, 1, shares),
    wine_lasso = one("wine", "cultivar", NULL, 1, shares[1:3]),
    glass_lasso = one("MASS_fgl", "type", c("RI", "Na", "Mg", "Al", "Si", "K", "Ca"), 1, shares[1:3])
  ),
  folds = list(
    pima = folded("MASS_Pima.tr", "type", pima, 1, 20),
    pima_ridge = folded("MASS_Pima.tr", "type", pima, 0, 12),
    island = folded("penguins", "island", bill, 0.5, 12)
  ),
  R = as.character(getRversion()), glmnet = as.character(packageVersion("glmnet"))
)
write(toJSON(cases, digits = I(17), auto_unbox = TRUE), file.path(dirname(script), "penalty.json"))
