# Writes knn.json: R's class::knn and class::knn.cv on tables of the package.
#
#   Rscript write_knn.R ../../discrim/datasets knn.json
#
# Columns are multiplied by a power of ten that makes them whole numbers, whose distances are tied in binary too:
# class keeps only such ties. It breaks ties of votes at random. Where a row's shares are tied its label (a number in the order of the levels) is written as null; the share of
# the winner (prob) does not depend on the draw. All distance ties vote (use.all = TRUE); class takes distances
# to be tied whose squares differ by less than a ten-thousandth.

library(class)
library(jsonlite)

args <- commandArgs(trailingOnly = TRUE)
table_of <- function(name) read.csv(file.path(args[1], paste0(name, ".csv")), check.names = FALSE)

repeated <- function(draw, draws = 40) {
  # A label that changes from draw to draw is one of a tie.
  labels <- sapply(seq_len(draws), function(i) {
    set.seed(i)
    as.integer(draw())
  })
  set.seed(1)
  label <- apply(labels, 1, function(own) if (length(unique(own)) > 1) NA else own[1])
  list(label = label, prob = as.numeric(attr(draw(), "prob")))
}

case <- function(name, response, columns, ks, times = 10) {
  data <- na.omit(table_of(name)[c(response, columns)])
  x <- round(as.matrix(data[columns]) * times)
  y <- factor(data[[response]])
  odd <- seq(1, nrow(x), 2)
  out <- list(table = name, response = response, columns = columns, times = times, k = ks)
  out$knn <- lapply(ks, function(k) {
    repeated(function() knn(x[odd, ], x[-odd, ], y[odd], k = k, prob = TRUE, use.all = TRUE))
  })
  out$knn_cv <- lapply(ks, function(k) {
    repeated(function() knn.cv(x, y, k = k, prob = TRUE, use.all = TRUE))
  })
  scaled <- scale(x)
  out$scaled_cv <- lapply(ks, function(k) {
    repeated(function() knn.cv(scaled, y, k = k, prob = TRUE, use.all = TRUE))
  })
  out
}

measures <- c("bill_length_mm", "bill_depth_mm", "flipper_length_mm")
cases <- list(
  case("iris", "species", c("sepal_length", "sepal_width", "petal_length", "petal_width"), c(1, 2, 4, 7, 15)),
  case("iris", "species", c("sepal_length", "sepal_width"), c(1, 3, 6)),
  case("penguins", "species", measures, c(1, 2, 5, 10)),
  case("wine", "cultivar", c("alcohol", "malic_acid", "proline"), c(1, 4, 9), 100)
)
versions <- list(R = R.version.string, class = as.character(packageVersion("class")))
write(toJSON(list(versions = versions, cases = cases), digits = NA, auto_unbox = TRUE, na = "null"), args[2])
