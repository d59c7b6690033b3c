# Golden values of naive Bayes where rows miss values and each column is fitted to the rows that have it (e1071).
#
#   Rscript tests/golden/write_available.R HouseVotes84.csv.gz
#
# writes available.json beside this script. The penguins come with the package. Of mlbench's votes (GPL) no row is
# written, only what e1071 makes of them.

suppressMessages({library(e1071); library(jsonlite)})

here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
rows_of <- function(x) unname(lapply(seq_len(nrow(x)), function(i) unname(x[i, ])))

fitted <- function(data, response, numeric, categorical, every) {
  for (column in c(response, categorical)) data[[column]] <- factor(data[[column]])
  fit <- naiveBayes(data[c(numeric, categorical)], data[[response]])
  shown <- data[seq(1, nrow(data), by = every), ]
  list(response = response, numeric = I(numeric), categorical = I(categorical), every = every, counts = as.vector(fit$apriori),
       moments = lapply(setNames(numeric, numeric), function(column) rows_of(fit$tables[[column]])),
       tables = lapply(setNames(categorical, categorical), function(column) rows_of(unclass(fit$tables[[column]]))),
       posteriors = rows_of(unname(predict(fit, shown, type = "raw", threshold = 0))))
}

penguins <- read.csv(file.path(here, "..", "..", "discrim", "datasets", "penguins.csv"), na.strings = c("NA", ""))
# More of the values go missing, by a rule and not by chance.
n <- nrow(penguins)
penguins$bill_length_mm[seq(3, n, by = 7)] <- NA
penguins$body_mass_g[seq(2, n, by = 5)] <- NA
penguins$sex[seq(1, n, by = 11)] <- NA
votes <- read.csv(commandArgs(trailingOnly = TRUE)[1])
about <- list(R = R.version.string, e1071 = as.character(packageVersion("e1071")))
found <- list(
  penguins = fitted(penguins, "species", c("bill_length_mm", "body_mass_g"), "sex", 4),
  votes = fitted(votes, "Class", character(), setdiff(names(votes), "Class"), 6)
)
write(toJSON(list(about = about, fits = found), digits = I(15), auto_unbox = TRUE, na = "null"),
      file.path(here, "available.json"))
