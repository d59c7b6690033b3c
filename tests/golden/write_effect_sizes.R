# Golden values of effect sizes with intervals and of simultaneous intervals, from effectsize and base R.
#
#   Rscript tests/golden/write_effect_sizes.R
#
# reads R's iris and the package's penguins and writes effect_sizes.json beside this script. The tests read the
# JSON only. Limits of noncentralities are roots of R's own pf and pt.

suppressMessages({ library(effectsize); library(jsonlite); library(multcomp) })
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- dirname(normalizePath(script))
options(contrasts = c("contr.sum", "contr.poly"))

root <- function(f, low, high) uniroot(f, c(low, high), tol = 1e-13, maxiter = 2000)$root
limits_f <- function(f, df1, df2, level = 0.95) {
  tails <- c((1 + level) / 2, (1 - level) / 2)
  sapply(tails, function(s) if (pf(f, df1, df2) <= s) 0 else root(function(l) pf(f, df1, df2, l) - s, 0, 20 * df1 * f + 20))
}
limits_t <- function(t, df, level = 0.95) sapply(c((1 + level) / 2, (1 - level) / 2), function(s) root(function(d) pt(t, df, d) - s, t - 12, t + 12))

fs <- list(c(10, 2, 30), c(0.5, 3, 60), c(2.5, 4, 145), c(25, 1, 12), c(119.26, 2, 147))
ts <- list(c(2, 10), c(-3.4, 97), c(0.2, 30), c(15, 147))

two <- subset(iris, Species != "setosa"); two$Species <- factor(two$Species)
d <- as.data.frame(cohens_d(Sepal.Length ~ Species, data = two))
mahalanobis <- as.data.frame(mahalanobis_d(cbind(Sepal.Length, Petal.Length) ~ Species, data = two, alternative = "two.sided"))

penguins <- utils::read.csv(file.path(here, "..", "..", "discrim", "datasets", "penguins.csv"), na.strings = c("NA", ""))
penguins <- na.omit(penguins[c("species", "sex", "bill_length_mm")])
penguins$species <- factor(penguins$species); penguins$sex <- factor(penguins$sex)
model <- car::Anova(lm(bill_length_mm ~ species * sex, data = penguins), type = 2)
omega <- as.data.frame(omega_squared(model, partial = TRUE, alternative = "two.sided"))
eta <- as.data.frame(eta_squared(model, partial = TRUE, alternative = "two.sided"))

one <- aov(Sepal.Width ~ Species, data = iris)
pairs <- list(c(1, 2), c(1, 3), c(2, 3))
means <- tapply(iris$Sepal.Width, iris$Species, mean)
mse <- sum(residuals(one)^2) / 147
scheffe <- lapply(pairs, function(ij) {
  gap <- unname(means[ij[1]] - means[ij[2]]); se <- sqrt(mse * 2 / 50); half <- sqrt(2 * qf(0.95, 2, 147)) * se
  c(gap, se, gap - half, gap + half, pf((gap / se)^2 / 2, 2, 147, lower.tail = FALSE))
})
each <- pairwise.t.test(iris$Sepal.Width, iris$Species, p.adjust.method = "holm")$p.value

found <- list(
  f = lapply(fs, function(x) list(given = x, limits = limits_f(x[1], x[2], x[3]))),
  t = lapply(ts, function(x) list(given = x, limits = limits_t(x[1], x[2]))),
  cohens_d = c(d$Cohens_d, d$CI_low, d$CI_high),
  mahalanobis = c(mahalanobis$Mahalanobis_D, mahalanobis$CI_low, mahalanobis$CI_high),
  omega = setNames(omega$Omega2_partial, omega$Parameter),
  eta = setNames(lapply(seq_len(nrow(eta)), function(i) c(eta$Eta2_partial[i], eta$CI_low[i], eta$CI_high[i])), eta$Parameter),
  df2 = 327, total = nrow(penguins),
  scheffe = scheffe, holm = c(each[1, 1], each[2, 1], each[2, 2])
)
found$omega <- as.list(found$omega)
write(toJSON(found, digits = I(15), auto_unbox = TRUE), file.path(here, "effect_sizes.json"))
