# Golden values of covariances of a few large variances, from HDclassif.
#
#   Rscript tests/golden/write_factor.R
#
# reads discrim/datasets/iris.csv, makes a table of fewer rows than columns from a generator of whole numbers
# that the tests have as well, and writes factor.json beside this script. The tests read the JSON only.
#
# Where HDclassif differs, and the tests go by what it says of itself:
# - Divisors are n_k, as of method="mle". Complexity counts the dimensions, which are always chosen here.
# - The sign of its BIC is that of 2 log L - m log N.
# - With a common noise and fewer rows than columns its b divides by the largest class, or N, in the place of
#   p; its own BIC corrects for that, its posteriors do not, so that of these only b is written ("b_p").
# - BIC of dimensions is that of one variance in all of the signal, whatever the form, and of fewer rows than
#   columns that of as many columns as rows: it is written for AkBkQkDk and AkBkQkD of iris.
# - Dimensions end where eigenvalues are below noise.ctrl = 1e-8, in the units of the data: nothing is so here.
# - AJBQD with as many dimensions as classes would take a_1 for all of them: it has other dimensions here.

suppressMessages({ library(HDclassif); library(jsonlite) })

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- dirname(normalizePath(script))
iris <- utils::read.csv(file.path(here, "..", "..", "discrim", "datasets", "iris.csv"), check.names = FALSE)
forms <- c("AkjBkQkDk", "AkBkQkDk", "ABkQkDk", "AkjBQkDk", "AkBQkDk", "ABQkDk",
           "AkjBkQkD", "AkBkQkD", "ABkQkD", "AkjBQkD", "AkBQkD", "ABQkD", "AjBQD", "ABQD")

one <- function(x, y, form, ..., rows = NULL) {
  fit <- hdda(x, y, model = form, ...)
  p <- ncol(x)
  m <- HDclassif:::hdc_getComplexity(fit, p)
  found <- list(
    dimensions = c(unclass(fit$d)), a = c(unclass(fit$a)), b = c(unclass(fit$b)), complexity = m,
    bic = fit$BIC, llf = (fit$BIC + m * log(nrow(x))) / 2
  )
  if (length(fit$b) == 1) {
    ranks <- if (form %in% c("AjBQD", "ABQD")) min(nrow(x), p) else min(max(table(y)), p)
    mean_d <- sum(as.numeric(fit$prop) * as.numeric(fit$d))
    found$b_p <- as.numeric(fit$b) * (ranks - mean_d) / (p - mean_d)
  }
  if (!is.null(rows)) found$prob <- unname(unclass(predict(fit, x[rows, ])$posterior))
  found
}

x <- as.matrix(iris[, 1:4])
y <- factor(iris$species)
rows <- c(1, 51, 71, 78, 84, 101, 120, 134)
of_iris <- lapply(setNames(forms, forms), function(form) one(x, y, form, rows = rows))
steep <- lapply(c(AkjBkQkDk = "AkjBkQkDk", ABQkD = "ABQkD"), function(form) {
  one(x, y, form, threshold = 0.05, rows = rows)
})
by_bic <- lapply(c(AkBkQkDk = "AkBkQkDk", AkBkQkD = "AkBkQkD"), function(form) {
  one(x, y, form, d_select = "bic", rows = rows)
})
two <- lapply(c(AkjBkQkD = "AkjBkQkD", ABQkD = "ABQkD", AjBQD = "AjBQD"), function(form) {
  one(x, y, form, com_dim = 2, rows = rows)
})
left_out <- lapply(c(AkjBkQkDk = "AkjBkQkDk", AkBQkDk = "AkBQkDk"), function(form) {
  found <- hdda(x, y, model = form, LOO = TRUE)
  list(label = as.character(found$class), prob = unname(unclass(found$posterior)[rows, ]))
})

# Uniform numbers of Lehmer's generator s -> 48271 s mod 2^31 - 1, from 1 on, less a half.
state <- 1
uniform <- function(count) {
  out <- numeric(count)
  for (i in seq_len(count)) {
    state <<- (48271 * state) %% 2147483647
    out[i] <- state / 2147483647 - 0.5
  }
  out
}
sizes <- c(10, 12, 14)
dims <- c(2, 3, 1)
p <- 60
wide <- do.call(rbind, lapply(1:3, function(k) {
  loadings <- matrix(uniform(dims[k] * p), dims[k], byrow = TRUE) * 2
  factors <- matrix(uniform(dims[k] * sizes[k]), sizes[k], byrow = TRUE) * 3
  noise <- matrix(uniform(sizes[k] * p), sizes[k], byrow = TRUE)
  factors %*% loadings + noise * (1 + k / 4) + k / 4
}))
labels <- factor(rep(c("a", "b", "c"), sizes))
of_wide <- lapply(setNames(forms, forms), function(form) {
  common <- !grepl("Bk", form)
  one(wide, labels, form, rows = if (common) NULL else c(1, 11, 20, 30))
})

found <- list(
  versions = list(HDclassif = as.character(packageVersion("HDclassif"))),
  rows = rows, iris = of_iris, steep = steep, by_bic = by_bic, two = two, left_out = left_out,
  wide = of_wide, wide_rows = c(1, 11, 20, 30), wide_sum = sum(wide)
)
writeLines(toJSON(found, digits = NA, auto_unbox = TRUE, pretty = TRUE), file.path(here, "factor.json"))
