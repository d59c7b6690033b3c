# Golden values of the regression of class indicators, from lm, and of flexible discriminant analysis, from mda.
#
#   Rscript tests/golden/write_indicator.R
#
# reads the tables that come with the package and writes indicator.json beside this script, numbers with 15
# significant digits. Rows with a missing value are left out. `loo` holds lm's deleted fitted values, from its hat
# values, and `variates` and `posteriors` predict.fda's, both of every fifth row.

suppressMessages({library(mda); library(jsonlite)})

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- dirname(script)
rows_of <- function(x) unname(lapply(seq_len(nrow(x)), function(i) unname(x[i, ])))

table_of <- function(name, response, columns) {
  data <- read.csv(file.path(here, "..", "..", "discrim", "datasets", paste0(name, ".csv")))
  data <- data[complete.cases(data[, c(response, columns)]), c(response, columns)]
  data[[response]] <- factor(data[[response]])
  data
}

regressions <- function(data, response, columns) {
  x <- data[columns]
  lapply(levels(data[[response]]), function(label) {
    y <- as.numeric(data[[response]] == label)
    fit <- lm(y ~ ., data = cbind(y = y, x))
    found <- summary(fit)
    chosen <- seq(1, nrow(data), by = 5)
    list(coef = unname(found$coefficients[, 1]), se = unname(found$coefficients[, 2]),
         t = unname(found$coefficients[, 3]), p = unname(found$coefficients[, 4]),
         r2 = found$r.squared, sigma = found$sigma, f = unname(found$fstatistic[1]),
         fitted = unname(fitted(fit)[chosen]), loo = unname((y - residuals(fit) / (1 - hatvalues(fit)))[chosen]))
  })
}

flexible <- function(data, response, columns, ...) {
  formula <- reformulate(columns, response)
  fit <- fda(formula, data = data, ...)
  chosen <- data[seq(1, nrow(data), by = 5), ]
  list(values = unname(fit$values[seq_len(fit$dimension)]), means = rows_of(unname(fit$means)),
       explained = unname(fit$percent.explained),
       variates = rows_of(unname(predict(fit, chosen, type = "variates"))),
       posteriors = rows_of(unname(predict(fit, chosen, type = "posterior"))),
       predicted = as.character(predict(fit, data)))
}

case <- function(name, response, columns) {
  data <- table_of(name, response, columns)
  list(response = response, columns = columns, classes = levels(data[[response]]),
       regressions = regressions(data, response, columns),
       fda = list(linear = flexible(data, response, columns),
                  quadratic = flexible(data, response, columns, method = polyreg, degree = 2),
                  ridge = flexible(data, response, columns, method = gen.ridge, lambda = 5)))
}

cases <- list(
  iris = case("iris", "species", c("sepal_length", "sepal_width", "petal_length", "petal_width")),
  penguins = case("penguins", "species", c("bill_length_mm", "bill_depth_mm", "flipper_length_mm")),
  wine = case("wine", "cultivar", c("alcohol", "malic_acid", "ash", "hue"))
)
about <- list(R = R.version.string, mda = as.character(packageVersion("mda")))
write(toJSON(list(about = about, cases = cases), digits = I(15), auto_unbox = TRUE, pretty = FALSE),
      file.path(here, "indicator.json"))
