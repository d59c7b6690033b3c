# CAT scores, t-scores and shrinkage discriminant analysis by R's sda, and higher criticism by fdrtool.
# Rscript write_ranking.R writes ranking.json beside itself; sda 1.3.9, corpcor 1.6.10, fdrtool 1.2.18.
suppressPackageStartupMessages({library(sda); library(jsonlite)})

# Whole numbers until the last step, so that any language makes the same table.
wide <- function() {
  n <- 24; p <- 40
  y <- rep(c("a", "b", "c"), c(10, 8, 6))
  x <- outer(1:n, 1:p, function(i, j) {
    noise <- (37 * i^2 + 101 * i * j + 53 * j^2 + 7 * i * j^2) %% 97 / 97
    common <- (29 * i) %% 31 / 31 * (j %% 5)
    shift <- ifelse((j %% 7) == as.integer(factor(y))[i], 0.75, 0)
    (noise + common + shift) * (1 + j %% 4)
  })
  colnames(x) <- paste0("g", 1:p)
  list(x = x, y = y)
}

case <- function(x, y, ...) {
  fit <- sda(x, y, verbose = FALSE, ...)
  # As predict.sda does, which rounds the posteriors to seven digits.
  scores <- sweep(x %*% t(fit$beta), 2, fit$alpha, "+")
  scores <- scores - apply(scores, 1, max)
  out <- list(
    lambda = fit$regularization[["lambda"]], lambda_var = fit$regularization[["lambda.var"]],
    freqs = as.list(fit$freqs), log_posterior = unname(scores - log(rowSums(exp(scores))))
  )
  for (score in c("entropy", "avg", "max")) {
    r <- sda.ranking(x, y, fdr = FALSE, ranking.score = score, verbose = FALSE, ...)
    if (score == "entropy") out$cat <- r[order(r[, "idx"]), -(1:2), drop = FALSE]
    out[[score]] <- r[order(r[, "idx"]), "score"]
    out[[paste0("order_", score)]] <- r[, "idx"]
  }
  out
}

table <- wide()
iris_x <- as.matrix(iris[, 1:4])
two <- iris$Species != "setosa"
rows <- list(iris = list(iris_x, iris$Species), two = list(iris_x[two, ][-(1:20), ], factor(iris$Species[two])[-(1:20)]),
             wide = list(table$x, table$y))
out <- list()
for (name in names(rows)) {
  x <- rows[[name]][[1]]; y <- rows[[name]][[2]]
  out[[name]] <- list(
    estimated = case(x, y),
    shares = case(x, y, lambda.freqs = 0),
    diagonal = case(x, y, diagonal = TRUE, lambda.freqs = 0),
    given = case(x, y, lambda = 0.3, lambda.var = 0.1, lambda.freqs = 0)
  )
}
p <- c(0.9, 1e-7, 0.03, 0.2, 0.004, 0.03, 0.6, 0.0001)
out$hc <- list(p = p, hc = fdrtool::hc.score(p), bh = p.adjust(p, "BH"))
here <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE)))
write(toJSON(out, digits = NA, auto_unbox = TRUE, matrix = "rowmajor"), file.path(here, "ranking.json"))
