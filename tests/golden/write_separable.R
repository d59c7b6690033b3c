# Golden values of separable covariances, by MLmatrixnorm of R's MixMatrix.
#
#   Rscript tests/golden/write_separable.R FOLDER
#
# sources inputchecks.R, meanvarfunc.R and matrixnorm.R of MixMatrix 0.2.8 (github.com/gzt/MixMatrix) from a folder
# and writes separable.json beside this script. What MixMatrix has in C++ is written here by its definition. The
# tables are R's iris, and waves of which the tests make the same.

suppressMessages(library(jsonlite))

arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) != 1L) stop("usage: Rscript write_separable.R FOLDER")
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
for (name in c("inputchecks.R", "meanvarfunc.R", "matrixnorm.R")) source(file.path(arguments, name))

txax <- function(x, u) array(apply(x, 3, function(one) t(one) %*% solve(u) %*% one), dim(x)[c(2, 2, 3)])
xatx <- function(x, v) array(apply(x, 3, function(one) one %*% solve(v) %*% t(one)), dim(x)[c(1, 1, 3)])
dmatrixnorm <- function(x, mean, U, V, log = TRUE) {
  r <- nrow(U); c <- nrow(V); u <- solve(U); v <- solve(V)
  logdet <- c * determinant(U)$modulus + r * determinant(V)$modulus
  apply(x, 3, function(one) -0.5 * (r * c * log(2 * pi) + logdet + sum(diag(v %*% t(one - mean) %*% u %*% (one - mean)))))
}

fitted <- function(x, y, r, c) {
  centred <- x - apply(x, 2, function(one) ave(one, y))
  matrices <- array(t(centred), c(c, r, nrow(x)))
  found <- MLmatrixnorm(aperm(matrices, c(2, 1, 3)), tol = 1e-28, max.iter = 10000)
  list(shape = c(r, c), U = found$U, V = found$V, scale = found$var, loglik = found$logLik)
}

n <- 30
at <- expand.grid(l = 1:4, j = 1:3)
waves <- outer(1:n, 1:12, function(i, k) sin(i * i * (1 + 0.1 * at$j[k]) + 2 * at$l[k]) + 0.5 * cos(3 * i + at$j[k] * at$l[k]))
written <- list(R = R.version.string,
                iris = fitted(as.matrix(iris[1:4]), iris$Species, 2, 2),
                waves = fitted(waves, rep(1:2, n / 2), 3, 4),
                first = waves[2, ])
write_json(written, file.path(dirname(script), "separable.json"), digits = NA, auto_unbox = TRUE, pretty = 1)
