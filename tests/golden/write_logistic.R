# Golden values of logistic regression, from glm of base R, multinom of nnet, and brglm2.
#
#   Rscript tests/golden/write_logistic.R DATA_DIR
#
# reads DATA_DIR/classic/*.csv.gz and writes logistic.json beside this script, numbers with 17 significant digits.
# glm iterates to 1e-15. multinom stops by its likelihood, after about six digits of a coefficient: Newton's method,
# written below, goes on from there to the maximum, and the standard errors are of its information. What it changed
# is recorded, in standard errors, and the script stops where that is more than 0.001 or where the end is no maximum.

suppressMessages({library(nnet); library(brglm2); library(jsonlite)})

arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) != 1L) stop("usage: Rscript write_logistic.R DATA_DIR")
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
invisible(Sys.setlocale("LC_COLLATE", "C"))

table_of <- function(file) read.csv(file.path(arguments, "classic", paste0(file, ".csv.gz")), check.names = FALSE)
rows_of <- function(x) unname(lapply(seq_len(nrow(x)), function(i) unname(x[i, ])))

two <- function(file, response, columns, event) {
  data <- table_of(file)[, c(response, columns)]
  data <- data[complete.cases(data), ]
  y <- as.integer(data[[response]] == event)
  fit <- glm(y ~ ., data = data[columns], family = binomial(), control = list(epsilon = 1e-15, maxit = 100))
  table <- summary(fit)$coefficients
  list(file = file, response = response, columns = I(columns), event = event, nobs = nrow(data),
       coef = unname(table[, 1]), se = unname(table[, 2]), z = unname(table[, 3]), p = unname(table[, 4]),
       llf = as.numeric(logLik(fit)), llnull = -fit$null.deviance / 2, cov = rows_of(vcov(fit)))
}

# Classes by rows of log odds against the first, as multinom gives them; z has a leading one.
newton <- function(z, y, start) {
  others <- seq_len(nlevels(y))[-1]
  member <- outer(as.integer(y), others, "==") + 0
  beta <- t(start)
  for (step in 0:12) {
    odds <- cbind(0, z %*% beta)
    top <- apply(odds, 1, max)
    logs <- odds - top - log(rowSums(exp(odds - top)))
    shares <- exp(logs[, others, drop = FALSE])
    score <- crossprod(z, member - shares)
    part <- function(k, m) crossprod(z, z * shares[, k] * ((k == m) - shares[, m]))
    information <- do.call(rbind, lapply(seq_along(others), function(k) {
      do.call(cbind, lapply(seq_along(others), function(m) part(k, m)))
    }))
    change <- solve(information, as.vector(score))
    se <- sqrt(diag(solve(information)))
    if (step > 1L && max(abs(change) / se) < 1e-13) break
    beta <- beta + change
  }
  if (max(abs(change) / se) > 1e-12) stop("Newton's method has not converged")
  list(coef = t(beta), se = t(matrix(se, nrow(beta))), llf = sum(logs[cbind(seq_along(y), as.integer(y))]),
       moved = max(abs(t(beta) - start) / t(matrix(se, nrow(beta)))))
}

many <- function(file, response, columns, classes = NULL) {
  data <- table_of(file)[, c(response, columns)]
  data <- data[complete.cases(data), ]
  if (!is.null(classes)) data <- data[data[[response]] %in% classes, ]
  y <- factor(data[[response]])
  x <- scale(data[columns])
  fit <- multinom(y ~ x, trace = FALSE, maxit = 10000, reltol = 1e-16, abstol = 1e-16)
  start <- matrix(coef(fit), nlevels(y) - 1)
  found <- newton(cbind(1, x), y, start)
  # Of two classes nnet takes a log odds above 15 for certain, and so has a likelihood that is too high by a little.
  if (found$moved > 1e-3 || abs(found$llf - logLik(fit)) > 1e-5) stop(file, ": multinom ended elsewhere")
  list(file = file, response = response, columns = I(columns), classes = sort(unique(data[[response]])),
       nobs = nrow(data), centre = I(unname(attr(x, "scaled:center"))), unit = I(unname(attr(x, "scaled:scale"))),
       coef = rows_of(found$coef), se = rows_of(found$se), llf = found$llf,
       moved = found$moved, llf_of_multinom = as.numeric(logLik(fit)))
}

# brmultinom has a nuisance parameter a row and is slow above a few hundred: `every` = 3 takes each third row.
reduced <- function(file, response, columns, classes, every = 1) {
  data <- table_of(file)[, c(response, columns)]
  data <- data[complete.cases(data) & data[[response]] %in% classes, ]
  data <- data[seq(1, nrow(data), by = every), ]
  y <- factor(data[[response]], levels = classes)
  control <- list(epsilon = 1e-14, maxit = 2000)
  if (length(classes) == 2) {
    fit <- glm(y ~ ., data = data[columns], family = binomial(), method = "brglmFit", type = "AS_mean",
               control = control)
    coef <- t(coef(fit))
    se <- t(summary(fit)$coefficients[, 2])
  } else {
    fit <- suppressWarnings(brmultinom(y ~ ., data = data[columns], ref = classes[1], type = "AS_mean",
                                       control = control))
    coef <- coef(fit)
    se <- summary(fit)$standard.errors
  }
  list(file = file, response = response, columns = I(columns), classes = classes, every = every,
       nobs = nrow(data), coef = rows_of(coef), se = rows_of(se))
}

iris <- c("Sepal.Length", "Sepal.Width", "Petal.Length", "Petal.Width")
pima <- c("npreg", "glu", "bp", "skin", "bmi", "ped", "age")
heart <- c("sbp", "tobacco", "ldl", "adiposity", "typea", "obesity", "alcohol", "age")
cases <- list(
  two = list(
    pima = two("MASS_Pima.tr", "type", pima, "Yes"),
    heart = two("ElemStatLearn_SAheart", "chd", heart, 1),
    default = two("ISLR2_Default", "default", c("balance", "income"), "Yes"),
    students = two("ISLR2_Default", "default", c("student", "balance", "income"), "Yes"),
    sexes = two("palmerpenguins_penguins", "sex", c("bill_length_mm", "bill_depth_mm", "island"), "male")
  ),
  many = list(
    penguins = many("palmerpenguins_penguins", "species", "bill_length_mm"),
    petals = many("palmerpenguins_penguins", "island", c("bill_length_mm", "flipper_length_mm", "body_mass_g")),
    vehicle = many("mlbench_Vehicle", "Class", c("Comp", "Circ", "Elong", "Sc.Var.Maxis")),
    vowel = many("ElemStatLearn_vowel.train", "y", paste0("x.", 1:10)),
    missing = many("MASS_Pima.tr2", "type", c("npreg", "glu", "bmi", "ped", "age")),
    iris = many("datasets_iris", "Species", "Sepal.Length"),
    sepals = many("datasets_iris", "Species", "Sepal.Width"),
    pair = many("datasets_iris", "Species", iris, c("versicolor", "virginica"))
  )
)
cases$reduced <- list(
  iris = reduced("datasets_iris", "Species", iris, c("setosa", "versicolor", "virginica")),
  pair = reduced("datasets_iris", "Species", iris, c("versicolor", "virginica")),
  apart = reduced("datasets_iris", "Species", iris, c("setosa", "virginica")),
  heart = reduced("ElemStatLearn_SAheart", "chd", heart, c(0, 1)),
  pima = reduced("MASS_Pima.tr", "type", pima, c("No", "Yes")),
  birds = reduced("palmerpenguins_penguins", "species", c("bill_length_mm", "body_mass_g"), c("Adelie", "Chinstrap")),
  species = reduced("palmerpenguins_penguins", "species", c("bill_length_mm", "bill_depth_mm"),
                    c("Adelie", "Chinstrap", "Gentoo"), every = 3)
)
cases$R <- as.character(getRversion())
cases$packages <- lapply(c(nnet = "nnet", brglm2 = "brglm2"), function(name) as.character(packageVersion(name)))
write(toJSON(cases, digits = I(17), auto_unbox = TRUE), file.path(dirname(script), "logistic.json"))
