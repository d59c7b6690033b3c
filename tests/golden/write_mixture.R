# Golden values of mixture discriminant analysis, from mclust and mda.
#
#   Rscript tests/golden/write_mixture.R
#
# reads the package's own tables in discrim/datasets and writes mixture.json beside this script. The tests read
# the JSON only. mclust's EM ends at a relative gain of 1e-12 here, and mda's at 1e-13.

suppressMessages({ library(mclust); library(mda); library(jsonlite) })

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- dirname(normalizePath(script))
tables <- file.path(here, "..", "..", "discrim", "datasets")
read <- function(name) utils::read.csv(file.path(tables, name), check.names = FALSE)
names_of <- c("EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV")
exact <- emControl(tol = c(1e-12, 1e-13), itmax = c(5000, 20000))

iris <- read("iris.csv")
x <- as.matrix(iris[, 1:4])
edda <- lapply(names_of, function(name) {
  fit <- MclustDA(x, iris$species, modelType = "EDDA", modelNames = name, control = exact, verbose = FALSE)
  list(llf = fit$loglik, df = fit$df, bic = fit$bic, prob = unname(predict(fit)$z[c(71, 84, 134), ]))
})
names(edda) <- names_of

# Within one class, EM from a partition by the median of the first column, of which the JSON holds no more.
virginica <- x[iris$species == "virginica", ]
halves <- unmap(1 + (virginica[, 1] > stats::median(virginica[, 1])))
within <- lapply(names_of, function(name) {
  fit <- me(virginica, modelName = name, z = halves, control = exact)
  list(name = name, llf = fit$loglik, share = sort(fit$parameters$pro), df = nMclustParams(name, d = 4, G = 2))
})

# The choice by BIC, in each class, from one to two components and all forms.
of_class <- function(name, x, class) {
  fit <- MclustDA(x, class, G = 1:2, control = exact, verbose = FALSE)
  list(
    table = name, llf_rows = fit$loglik, df = fit$df,
    classes = lapply(fit$models, function(each) {
      list(components = each$G, covariance = each$modelName, llf = each$loglik)
    })
  )
}
penguins <- read("penguins.csv")
body <- c("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")
penguins <- penguins[stats::complete.cases(penguins[, body]), ]
chosen <- list(of_class("iris", x, iris$species), of_class("penguins", as.matrix(penguins[, body]), penguins$species))

# Its EM from hierarchical clustering alone ends lower than from one of several partitions by k-means.
chinstrap <- as.matrix(penguins[penguins$species == "Chinstrap", body])
set.seed(1)
from_kmeans <- max(sapply(1:30, function(i) {
  points <- if (i %% 2) scale(chinstrap) else chinstrap %*% solve(chol(cov(chinstrap)))
  me(chinstrap, modelName = "EEE", z = unmap(stats::kmeans(points, 2)$cluster), control = exact)$loglik
}))

# Two clusters, one of them bent along the third column, at which the likelihood has many maxima; from the one
# start that mclust has.
bent <- lapply(1:6, function(seed) {
  set.seed(seed)
  depth <- c(stats::rexp(50, 1 / 60), 400 + 100 * stats::rbeta(30, 5, 2) * stats::runif(30))
  x <- round(cbind(0.01 * depth + stats::rnorm(80), stats::rgamma(80, 3), depth, stats::rexp(80) + 4), 1)
  llf <- lapply(c(VVI = "VVI", VVV = "VVV", VEV = "VEV"), function(name) {
    Mclust(x, G = 2, modelNames = name, control = exact, verbose = FALSE)$loglik
  })
  list(x = unname(x), llf = llf)
})

# mda stops after five steps by default, from a partition that k-means draws: its deviance is that of a run that
# has not ended. Other seeds end elsewhere.
set.seed(2)
begun <- mda.start(x, iris$species, subclasses = 3)
started <- list(
  parts = lapply(unname(begun[c("setosa", "versicolor", "virginica")]), max.col),
  deviance = mda(species ~ ., iris, weights = begun)$deviance,
  converged = mda(species ~ ., iris, weights = begun, iter = 5000, tol = 1e-13)$deviance
)

found <- list(
  versions = list(mclust = as.character(packageVersion("mclust")), mda = as.character(packageVersion("mda"))),
  edda = edda, within = within, chosen = chosen, from_kmeans = from_kmeans, bent = bent, started = started
)
writeLines(toJSON(found, digits = NA, auto_unbox = TRUE, pretty = TRUE), file.path(here, "mixture.json"))
