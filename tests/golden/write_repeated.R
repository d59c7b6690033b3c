# Golden values of repeated measures and profiles, from car and afex, and of Hotelling's T2 by hand.
#
#   Rscript tests/golden/write_repeated.R
#
# reads OBrienKaiser of carData (O'Brien & Kaiser, 1985, Psychological Bulletin 97, 316-333) and the package's
# penguins, and writes repeated.json, with that table, beside this script. The tests read the JSON only.

suppressMessages({ library(car); library(carData); library(afex); library(jsonlite) })
options(contrasts = c("contr.sum", "contr.poly"))

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- dirname(normalizePath(script))
invisible(Sys.setlocale("LC_COLLATE", "C"))

data(OBrienKaiser, package = "carData")
table <- OBrienKaiser
set.seed(1)
table$age <- round(rnorm(nrow(table), 40, 10), 1)
names(table) <- sub(".", "_", names(table), fixed = TRUE)
responses <- grep("^(pre|post|fup)_", names(table), value = TRUE)
within <- data.frame(phase = factor(rep(c("pre", "post", "fup"), each = 5), levels = c("pre", "post", "fup")),
                     hour = ordered(rep(1:5, 3)))

multivariate <- function(tested) {
  stats <- sapply(c("Pillai", "Wilks", "Hotelling-Lawley", "Roy"), function(name) {
    sapply(tested$terms, function(term) {
      e <- tested$SSPE[[term]]
      eigs <- Re(eigen(qr.coef(qr(e), tested$SSP[[term]]), symmetric = FALSE)$values)
      fun <- get(switch(name, Pillai = "Pillai", Wilks = "Wilks", `Hotelling-Lawley` = "HL", Roy = "Roy"), envir = asNamespace("stats"))
      unname(fun(eigs, tested$df[[term]], tested$error.df))
    }, simplify = FALSE)
  }, simplify = FALSE)
  names(stats) <- c("pillai", "wilks", "hotelling-lawley", "roy")
  stats
}

rows <- function(m) sapply(rownames(m), function(r) unname(m[r, ]), simplify = FALSE)

case <- function(formula, idata, idesign, type, columns = responses) {
  model <- lm(as.formula(paste0("cbind(", paste(columns, collapse = ", "), ") ~ ", formula)), data = table)
  tested <- Anova(model, idata = idata, idesign = idesign, type = type)
  s <- suppressWarnings(summary(tested))
  list(multivariate = multivariate(tested), univariate = rows(unclass(s$univariate.tests)),
       adjusted = rows(unclass(s$pval.adjustments)), mauchly = rows(unclass(s$sphericity.tests)))
}

long <- reshape(cbind(id = seq_len(nrow(table)), table), direction = "long", idvar = "id",
                varying = responses, v.names = "score", times = responses, timevar = "response")
long$phase <- factor(sub("_.*", "", long$response)); long$hour <- factor(sub(".*_", "", long$response))
by_afex <- suppressMessages(suppressWarnings(aov_ez("id", "score", long, between = c("treatment", "gender"), within = c("phase", "hour"),
                  type = 2, anova_table = list(es = "ges", correction = "GG"))))
pes <- anova(by_afex, es = "pes")

profile <- function(x, g) {
  # Johnson & Wichern, sec. 6.8, for two classes: T2 as F, with its degrees of freedom.
  x <- as.matrix(x); a <- x[g == levels(g)[1], ]; b <- x[g == levels(g)[2], ]
  n <- nrow(a); m <- nrow(b); p <- ncol(x)
  S <- ((n - 1) * cov(a) + (m - 1) * cov(b)) / (n + m - 2)
  C <- cbind(-1, diag(p))[seq_len(p - 1), seq_len(p)]
  C <- matrix(0, p - 1, p); for (i in seq_len(p - 1)) { C[i, i] <- -1; C[i, i + 1] <- 1 }
  d <- colMeans(a) - colMeans(b); one <- rep(1, p)
  k <- 1 / (1 / n + 1 / m)
  t2 <- drop(k * t(C %*% d) %*% solve(C %*% S %*% t(C)) %*% (C %*% d))
  level <- sum(d)^2 * k / drop(one %*% S %*% one)
  flat <- function(mean, size) drop(size * t(C %*% mean) %*% solve(C %*% S %*% t(C)) %*% (C %*% mean))
  scale <- (n + m - p) / ((n + m - 2) * (p - 1))
  list(parallelism = c(t2 * scale, p - 1, n + m - p), level = c(level, 1, n + m - 2),
       flatness = c(flat(colMeans(x), n + m) * scale, p - 1, n + m - p),
       flatness_unweighted = c(flat((colMeans(a) + colMeans(b)) / 2, 4 * k) * scale, p - 1, n + m - p))
}

penguins <- utils::read.csv(file.path(here, "..", "..", "discrim", "datasets", "penguins.csv"), na.strings = c("NA", ""))
two <- na.omit(subset(penguins, species != "Gentoo", c("species", "bill_length_mm", "bill_depth_mm", "flipper_length_mm")))
two$species <- factor(two$species)

found <- list(
  table = table,
  both = list(`2` = case("treatment * gender", within, ~ phase * hour, "II"), `3` = case("treatment * gender", within, ~ phase * hour, "III")),
  additive = list(`2` = case("treatment * gender", within, ~ phase + hour, "II")),
  covariate = list(`2` = case("treatment + age", within, ~ phase * hour, "II"), `3` = case("treatment + age", within, ~ phase * hour, "III")),
  few = list(`2` = case("treatment", within[1:5, "hour", drop = FALSE], ~ hour, "II", responses[1:5])),
  afex = list(ges = rows(as.matrix(as.data.frame(by_afex$anova_table))), pes = rows(as.matrix(as.data.frame(pes)))),
  profile = profile(two[-1], two$species)
)
write(toJSON(found, digits = I(15), auto_unbox = TRUE, na = "null", null = "null"), file.path(here, "repeated.json"))
