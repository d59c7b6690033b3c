# Golden values of Gaussian naive Bayes, from e1071.
#
#   Rscript tests/golden/write_naive_bayes.R
#
# reads the tables that come with the package and writes naive_bayes.json beside this script, numbers with 15
# significant digits. `posteriors` are of every fifth complete row; e1071 replaces densities that underflow, and the
# script stops where one does.

suppressMessages({library(e1071); library(jsonlite)})

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- dirname(script)
rows_of <- function(x) unname(lapply(seq_len(nrow(x)), function(i) unname(x[i, ])))

case <- function(name, response, columns) {
  data <- read.csv(file.path(here, "..", "..", "discrim", "datasets", paste0(name, ".csv")))
  data <- data[complete.cases(data[, c(response, columns)]), c(response, columns)]
  fit <- naiveBayes(data[columns], factor(data[[response]]))
  for (column in columns) {
    table <- fit$tables[[column]]
    for (k in seq_len(nrow(table))) stopifnot(all(dnorm(data[[column]], table[k, 1], table[k, 2]) > 0))
  }
  chosen <- data[seq(1, nrow(data), by = 5), columns]
  list(response = response, columns = columns, classes = fit$levels,
       means = rows_of(sapply(columns, function(column) fit$tables[[column]][, 1])),
       sds = rows_of(sapply(columns, function(column) fit$tables[[column]][, 2])),
       posteriors = rows_of(unname(predict(fit, chosen, type = "raw"))))
}

cases <- list(
  iris = case("iris", "species", c("sepal_length", "sepal_width", "petal_length", "petal_width")),
  penguins = case("penguins", "species", c("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")),
  wine = case("wine", "cultivar", c("alcohol", "malic_acid", "ash", "magnesium", "hue", "proline"))
)
about <- list(R = R.version.string, e1071 = as.character(packageVersion("e1071")))
write(toJSON(list(about = about, cases = cases), digits = I(15), auto_unbox = TRUE, pretty = FALSE),
      file.path(here, "naive_bayes.json"))
