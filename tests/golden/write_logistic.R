# Golden values of logistic regression, from glm of base R, multinom of nnet, and brglm2.
#
#   Rscript tests/golden/write_logistic.R DATA_DIR
#
# reads DATA_DIR/classic/*.csv.gz and writes logistic.json beside this script, numbers with 17 significant digits.
# glm iterates to 1e-15; multinom stops by its likelihood, so that its coefficients have about six digits.

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

many <- function(file, response, columns) {
  data <- table_of(file)[, c(response, columns)]
  data <- data[complete.cases(data), ]
  y <- factor(data[[response]])
  x <- scale(data[columns])
  fit <- multinom(y ~ x, trace = FALSE, maxit = 10000, reltol = 1e-16, abstol = 1e-16, Hess = TRUE)
  list(file = file, response = response, columns = I(columns), classes = levels(y), nobs = nrow(data),
       centre = I(unname(attr(x, "scaled:center"))), unit = I(unname(attr(x, "scaled:scale"))),
       coef = rows_of(coef(fit)), se = rows_of(summary(fit)$standard.errors), llf = as.numeric(logLik(fit)))
}

reduced <- function(file, response, columns, classes) {
  data <- table_of(file)[, c(response, columns)]
  data <- data[complete.cases(data) & data[[response]] %in% classes, ]
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
  list(file = file, response = response, columns = I(columns), classes = classes, nobs = nrow(data),
       coef = rows_of(coef), se = rows_of(se))
}

iris <- c("Sepal.Length", "Sepal.Width", "Petal.Length", "Petal.Width")
pima <- c("npreg", "glu", "bp", "skin", "bmi", "ped", "age")
heart <- c("sbp", "tobacco", "ldl", "adiposity", "typea", "obesity", "alcohol", "age")
cases <- list(
  two = list(
    pima = two("MASS_Pima.tr", "type", pima, "Yes"),
    heart = two("ElemStatLearn_SAheart", "chd", heart, 1),
    default = two("ISLR2_Default", "default", c("balance", "income"), "Yes")
  ),
  many = list(
    penguins = many("palmerpenguins_penguins", "species", "bill_length_mm"),
    petals = many("palmerpenguins_penguins", "island", c("bill_length_mm", "flipper_length_mm", "body_mass_g")),
    vehicle = many("mlbench_Vehicle", "Class", c("Comp", "Circ", "Elong", "Sc.Var.Maxis"))
  )
)
cases$reduced <- list(
  iris = reduced("datasets_iris", "Species", iris, c("setosa", "versicolor", "virginica")),
  pair = reduced("datasets_iris", "Species", iris, c("versicolor", "virginica")),
  apart = reduced("datasets_iris", "Species", iris, c("setosa", "virginica")),
  heart = reduced("ElemStatLearn_SAheart", "chd", heart, c(0, 1))
)
cases$R <- as.character(getRversion())
write(toJSON(cases, digits = I(17), auto_unbox = TRUE), file.path(dirname(script), "logistic.json"))
