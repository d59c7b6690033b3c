# Golden values of what a logistic regression says beyond its estimates, from glm, MASS's profiles and multinom.
#
#   Rscript tests/golden/write_logistic_inference.R DATA_DIR
#
# reads DATA_DIR/classic/*.csv.gz and writes logistic_inference.json beside this script, numbers with 17 significant
# digits. A profile is a spline through points; the finer step `del` leaves about six digits of its bounds.

suppressMessages({library(MASS); library(nnet); library(jsonlite)})

arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) != 1L) stop("usage: Rscript write_logistic_inference.R DATA_DIR")
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
invisible(Sys.setlocale("LC_COLLATE", "C"))

table_of <- function(file, columns) {
  data <- read.csv(file.path(arguments, "classic", paste0(file, ".csv.gz")), stringsAsFactors = TRUE)[columns]
  data[complete.cases(data), ]
}
rows_of <- function(x) unname(lapply(seq_len(nrow(x)), function(i) unname(x[i, ])))

two <- function(file, response, columns, level) {
  data <- table_of(file, c(response, columns))
  data$y <- as.integer(data[[response]]) - 1L
  fit <- glm(reformulate(columns, "y"), data = data, family = binomial(),
             control = list(epsilon = 1e-15, maxit = 100))
  outline <- profile(fit, alpha = (1 - level) / 4, maxsteps = 200, del = 0.05)
  bounds <- confint(outline, level = level)
  dropped <- drop1(fit, test = "LRT")[-1, ]
  link <- predict(fit, data[1:20, ], se.fit = TRUE)
  list(file = file, response = response, columns = I(columns), level = level, nobs = nrow(data),
       profile = rows_of(bounds), terms = I(columns), lrt = I(dropped$LRT), df = I(dropped$Df),
       p = I(dropped$`Pr(>Chi)`), eta = I(unname(link$fit)), se = I(unname(link$se.fit)))
}

many <- function(file, response, columns) {
  data <- table_of(file, c(response, columns))
  numeric <- vapply(data, is.numeric, NA)
  data[numeric] <- scale(data[numeric])
  fitted <- function(terms) multinom(reformulate(terms, response), data = data, trace = FALSE, maxit = 10000,
                                     reltol = 1e-16, abstol = 1e-16)
  whole <- fitted(columns)
  lrt <- vapply(columns, function(one) deviance(fitted(setdiff(columns, one))) - deviance(whole), 0)
  list(file = file, response = response, columns = I(columns), nobs = nrow(data), lrt = I(unname(lrt)))
}

cases <- list(
  two = list(
    pima = two("MASS_Pima.tr", "type", c("npreg", "glu", "bp", "skin", "bmi", "ped", "age"), 0.95),
    penguins = two("palmerpenguins_penguins", "sex", c("bill_depth_mm", "island", "flipper_length_mm"), 0.9)
  ),
  many = list(
    island = many("palmerpenguins_penguins", "island", c("bill_length_mm", "sex", "bill_depth_mm")),
    species = many("palmerpenguins_penguins", "species", c("bill_depth_mm", "sex"))
  ),
  R = as.character(getRversion())
)
write(toJSON(cases, digits = I(17), auto_unbox = TRUE), file.path(dirname(script), "logistic_inference.json"))
