# Golden values of naive Bayes with categorical columns (e1071) and with kernel densities (by hand).
#
#   Rscript tests/golden/write_naive_bayes_mixed.R [HouseVotes84.csv.gz]
#
# writes naive_bayes_mixed.json beside this script, numbers with 15 significant digits. The penguins come with the
# package, the contingency table is made here and written into the file. The votes are mlbench's (GPL), of which no
# row is written, only what e1071 makes of them: they are read where their path is given.
#
# - e1071 puts a threshold in the place of densities that are zero; with threshold = 0 it takes the logarithm of zero,
#   and a NaN of its is a class that is impossible where another is not. Rows impossible in every class stay NaN.
# - Kernel densities are those of klaR's NaiveBayes(usekernel = TRUE), which calls density() with its default
#   bandwidth bw.nrd0; the sum of kernels is taken here as it stands, and `grid` is what density() makes of it.

suppressMessages({library(e1071); library(jsonlite)})

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- dirname(script)
rows_of <- function(x) unname(lapply(seq_len(nrow(x)), function(i) unname(x[i, ])))

posteriors <- function(fit, data) {
  p <- unname(predict(fit, data, type = "raw", threshold = 0))
  some <- rowSums(!is.nan(p)) > 0
  p[some, ][is.nan(p[some, ])] <- 0
  rows_of(p)
}

mixed <- function(data, response, numeric, categorical, laplace, every) {
  data <- data[!is.na(data[[response]]), c(response, numeric, categorical)]
  for (column in c(response, categorical)) data[[column]] <- factor(data[[column]])
  complete <- data[complete.cases(data), ]
  fit <- naiveBayes(complete[-1], complete[[1]], laplace = laplace)
  shown <- data[seq(1, nrow(data), by = every), ]
  list(response = response, numeric = numeric, categorical = categorical, laplace = laplace, every = every,
       classes = fit$levels, rows = nrow(complete),
       tables = lapply(setNames(categorical, categorical), function(column)
         list(levels = colnames(fit$tables[[column]]), shares = rows_of(unclass(fit$tables[[column]])))),
       moments = lapply(setNames(numeric, numeric), function(column) rows_of(fit$tables[[column]])),
       posteriors = posteriors(fit, shown[-1]))
}

contingency <- function() {
  cells <- expand.grid(deck = c("low", "middle", "top"), sex = c("f", "m"), age = c("adult", "child"),
                       saved = c("no", "yes"), stringsAsFactors = FALSE)
  cells$times <- c(62, 31, 9, 301, 154, 88, 17, 0, 1, 35, 11, 2, 90, 93, 140, 75, 25, 57, 14, 13, 1, 13, 11, 5)
  table <- xtabs(times ~ deck + sex + age + saved, cells)
  fit <- naiveBayes(saved ~ deck + sex + age, data = table)
  new <- unique(cells[c("deck", "sex", "age")])
  list(cells = cells, tables = lapply(fit$tables, function(t) list(levels = colnames(t), shares = rows_of(unclass(t)))),
       new = new, posteriors = posteriors(fit, new))
}

kernel <- function(name, response, columns, every, rule) {
  data <- read.csv(file.path(here, "..", "..", "discrim", "datasets", paste0(name, ".csv")))
  data <- data[complete.cases(data[, c(response, columns)]), c(response, columns)]
  classes <- sort(unique(data[[response]]))
  bandwidths <- sapply(columns, function(column) tapply(data[[column]], data[[response]], rule))
  new <- data[seq(1, nrow(data), by = every), columns]
  scores <- sapply(classes, function(k) {
    own <- data[data[[response]] == k, columns]
    log(nrow(own) / nrow(data)) + rowSums(sapply(columns, function(column)
      log(sapply(new[[column]], function(x) mean(dnorm(x, own[[column]], bandwidths[k, column]))))))
  })
  weights <- exp(scores - apply(scores, 1, max))
  grid <- density(data[data[[response]] == classes[1], columns[1]])
  keep <- seq(1, 512, by = 16)
  list(data = name, response = response, columns = columns, every = every, classes = classes,
       bandwidths = rows_of(bandwidths), posteriors = rows_of(weights / rowSums(weights)),
       grid = list(x = grid$x[keep], y = grid$y[keep]))
}

penguins <- read.csv(file.path(here, "..", "..", "discrim", "datasets", "penguins.csv"), na.strings = c("NA", ""))
numeric <- c("bill_length_mm", "body_mass_g")
categorical <- c("island", "sex", "year")
found <- list(
  penguins_0 = mixed(penguins, "species", numeric, categorical, 0, 3),
  penguins_1 = mixed(penguins, "species", numeric, categorical, 1, 3),
  sexes_0 = mixed(penguins, "sex", c(numeric, "bill_depth_mm"), c("island", "species"), 0, 4),
  sexes_1 = mixed(penguins, "sex", c(numeric, "bill_depth_mm"), c("island", "species"), 1, 4)
)
path <- commandArgs(trailingOnly = TRUE)
if (length(path)) {
  votes <- read.csv(path[1])
  for (laplace in 0:1)
    found[[paste0("votes_", laplace)]] <- mixed(votes, "Class", character(), setdiff(names(votes), "Class"), laplace, 5)
}
kernels <- list(
  iris = kernel("iris", "species", c("sepal_length", "sepal_width", "petal_length", "petal_width"), 5, bw.nrd0),
  wine = kernel("wine", "cultivar", c("alcohol", "malic_acid", "hue"), 7, bw.nrd0),
  iris_nrd = kernel("iris", "species", c("sepal_length", "petal_width"), 5, bw.nrd)
)
about <- list(R = R.version.string, e1071 = as.character(packageVersion("e1071")))
write(toJSON(list(about = about, mixed = found, contingency = contingency(), kernels = kernels), digits = I(15),
             auto_unbox = TRUE, na = "null", pretty = FALSE),
      file.path(here, "naive_bayes_mixed.json"))
