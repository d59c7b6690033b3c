# Golden values of DeLong's test of two areas under ROC curves of the same observations, by the definition of
# DeLong, DeLong & Clarke-Pearson (1988): loops over all pairs in base R, with posteriors of MASS (CV = TRUE).
#
#   Rscript tests/golden/write_roc_tests.R
#
# writes roc_tests.json beside this script. The tables come with the package.

library(MASS)
library(jsonlite)

here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
datasets <- file.path(here, "..", "..", "discrim", "datasets")

psi <- function(x, y) (x > y) + 0.5 * (x == y)

delong <- function(first, second, positive) {
  areas <- numeric(2); v10 <- list(); v01 <- list()
  scores <- list(first, second)
  for (r in 1:2) {
    x <- scores[[r]][positive]; y <- scores[[r]][!positive]
    kernel <- outer(x, y, psi)
    areas[r] <- mean(kernel); v10[[r]] <- rowMeans(kernel); v01[[r]] <- colMeans(kernel)
  }
  s10 <- cov(cbind(v10[[1]], v10[[2]])); s01 <- cov(cbind(v01[[1]], v01[[2]]))
  s <- s10 / sum(positive) + s01 / sum(!positive)
  contrast <- c(1, -1)
  se <- sqrt(drop(contrast %*% s %*% contrast))
  z <- (areas[1] - areas[2]) / se
  list(area_a = areas[1], area_b = areas[2], se = se, z = z, p = 2 * pnorm(-abs(z)),
       low = areas[1] - areas[2] - qnorm(0.975) * se, high = areas[1] - areas[2] + qnorm(0.975) * se)
}

results <- list(about = list(R = R.version.string, MASS = as.character(packageVersion("MASS"))))
tumours <- read.csv(file.path(datasets, "breast_cancer.csv"))
columns <- c("radius_mean", "texture_mean", "smoothness_mean")
classes <- sort(unique(tumours$diagnosis))
second <- tumours$diagnosis == classes[2]
linear <- lda(tumours[columns], tumours$diagnosis, CV = TRUE)$posterior[, classes[2]]
quadratic <- qda(tumours[columns], tumours$diagnosis, CV = TRUE)$posterior[, classes[2]]
texture <- lda(tumours["texture_mean"], tumours$diagnosis, CV = TRUE)$posterior[, classes[2]]
results$tumours <- list(linear_quadratic = delong(linear, quadratic, second), linear_texture = delong(linear, texture, second))

wine <- read.csv(file.path(datasets, "wine.csv"))
results$wine <- list()
x <- c("alcohol", "malic_acid", "ash")
linear <- lda(wine[x], wine$cultivar, CV = TRUE)$posterior
quadratic <- qda(wine[x], wine$cultivar, CV = TRUE)$posterior
for (label in colnames(linear))
  results$wine[[label]] <- delong(linear[, label], quadratic[, label], wine$cultivar == label)

write_json(results, file.path(here, "roc_tests.json"), digits = NA, auto_unbox = TRUE, pretty = TRUE)
