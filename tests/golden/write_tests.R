# Golden values of the tests and canonical variates of a discriminant analysis, from base R and MASS.
#
#   Rscript tests/golden/write_tests.R DATA_DIR
#
# reads DATA_DIR/classic/*.csv.gz and writes tests.json beside this script. The tests read the JSON only;
# the tables themselves stay out of the project. Numbers are written with 17 significant digits, so that
# they read back as the doubles R had; jsonlite stops at 15, hence the small writer below. Where R offers a
# second road to a number (cancor, manova, nested models, lda), the script takes it too and stops if they differ.

suppressMessages(library(MASS))

arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) != 1L) stop("usage: Rscript write_tests.R DATA_DIR")
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
invisible(Sys.setlocale("LC_COLLATE", "C"))

# ---------------------------------------------------------------- JSON

json_number <- function(x) {
  if (is.integer(x)) return(ifelse(is.na(x), "null", as.character(x)))
  ifelse(is.finite(x), sprintf("%.17g", x), "null")
}

json_string <- function(x) paste0('"', gsub('"', '\\"', gsub("\\", "\\\\", x, fixed = TRUE), fixed = TRUE), '"')

# A named list is an object, one without names an array; a matrix a list of its rows; I(x) an array even
# where it has one element.
to_json <- function(x) {
  if (is.list(x)) {
    items <- vapply(x, to_json, "")
    if (is.null(names(x))) return(paste0("[", paste0(items, collapse = ",\n"), "]"))
    return(paste0("{", paste0(json_string(names(x)), ": ", items, collapse = ",\n"), "}"))
  }
  if (is.matrix(x)) {
    rows <- apply(x, 1L, function(row) paste0("[", paste(json_number(row), collapse = ", "), "]"))
    return(paste0("[", paste(rows, collapse = ",\n"), "]"))
  }
  scalar <- length(x) == 1L && !inherits(x, "AsIs")
  x <- unclass(x)
  text <- if (is.character(x)) json_string(x) else if (is.logical(x)) tolower(x) else json_number(x)
  if (scalar) text else paste0("[", paste(text, collapse = ", "), "]")
}

# ---------------------------------------------------------------- data

read_table <- function(name) {
  read.csv(file.path(arguments, "classic", paste0(name, ".csv.gz")), stringsAsFactors = FALSE)
}

# `group` is the response; every column of `x` is a predictor, in this order.
case <- function(file, response, columns = NULL, data = read_table(file)) {
  if (is.null(columns)) columns <- setdiff(names(data), response)
  x <- data[columns]
  group <- do.call(paste, unname(data[response]))
  complete <- complete.cases(x) & complete.cases(data[response])
  list(file = file, response = paste(response, collapse = " + "), x = as.matrix(x[complete, , drop = FALSE]),
       group = factor(group[complete]), dropped = sum(!complete))
}

cases <- function() {
  list(
    iris = case("datasets_iris", "Species"),
    iris_petal = case("datasets_iris", "Species", c("Petal.Length", "Petal.Width")),
    crabs = case("MASS_crabs", c("sp", "sex"), c("FL", "RW", "CL", "CW", "BD")),
    pima = case("MASS_Pima.tr", "type"),
    fgl = case("MASS_fgl", "type")
  )
}

# More tables, for the signs of `lda` only: from two columns to eighteen, from two classes to twenty-six.
sign_cases <- function() {
  cushings <- read_table("MASS_Cushings")
  cushings <- cushings[cushings$Type != "u", ]
  microtus <- read_table("Flury_microtus")
  microtus <- microtus[microtus$Group != "unknown", ]
  c(cases(), list(
    wine = case("candisc_Wine", "Cultivar"),
    penguins = case("palmerpenguins_penguins", "species",
                    c("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")),
    vowel = case("ElemStatLearn_vowel.train", "y"),
    cushings = case("MASS_Cushings", "Type", c("Tetrahydrocortisone", "Pregnanetriol"), cushings),
    synth = case("MASS_synth.tr", "yc"),
    biopsy = case("MASS_biopsy", "class", paste0("V", 1:9)),
    microtus = case("Flury_microtus", "Group", NULL, microtus),
    hemophilia = case("rrcov_hemophilia", "gr"),
    fish = case("rrcov_fish", "Species"),
    diabetes = case("heplots_Diabetes", "group"),
    skulls = case("heplots_Skulls", "epoch"),
    wolves = case("candisc_Wolves", "group", paste0("x", 1:9)),
    grass = case("candisc_Grass", "Species", c("N1", "N9", "N27", "N81", "N243")),
    vehicle = case("mlbench_Vehicle", "Class"),
    letters = case("mlbench_LetterRecognition", "lettr")
  ))
}

# ---------------------------------------------------------------- small helpers

agree <- function(what, a, b, tolerance = 1e-9) {
  difference <- all.equal(unname(a), unname(b), tolerance = tolerance, check.attributes = FALSE)
  if (!isTRUE(difference)) stop(what, ": ", difference)
}

by_name <- function(names, f) setNames(lapply(names, f), names)

centred <- function(x) sweep(x, 2L, colMeans(x))

class_means <- function(x, group) rowsum(x, group) / as.vector(table(group))

within_deviations <- function(x, group) x - class_means(x, group)[as.integer(group), , drop = FALSE]


# ---------------------------------------------------------------- 1. multivariate analysis of variance

# McKeon's F of the Hotelling-Lawley trace, which summary.manova does not offer; none where v <= p + 1.
mckeon <- function(trace, p, q, v) {
  n <- (v - p - 1) / 2
  if (n <= 0) return(NULL)
  b <- (p + 2 * n) * (q + 2 * n) / (2 * (2 * n + 1) * (n - 1))
  df2 <- 4 + (p * q + 2) / (b - 1)
  f <- trace * 2 * n / (2 + (p * q + 2) / (b - 1)) * df2 / (p * q)
  list(statistic = trace, f = f, df1 = p * q, df2 = df2, p = pf(f, p * q, df2, lower.tail = FALSE))
}

golden_manova <- function(x, group) {
  fit <- manova(x ~ group)
  tests <- c(pillai = "Pillai", wilks = "Wilks", hotelling_lawley = "Hotelling-Lawley", roy = "Roy")
  values <- lapply(tests, function(test) {
    # tol = 0: the columns of fgl are in percent and refractive index, and full rank at that.
    row <- summary(fit, test = test, tol = 0)$stats[1L, ]
    list(statistic = row[[2L]], f = row[[3L]], df1 = row[[4L]], df2 = row[[5L]], p = row[[6L]])
  })
  q <- nlevels(group) - 1
  values$hotelling_lawley_mckeon <- mckeon(values$hotelling_lawley$statistic, ncol(x), q, nrow(x) - q - 1)
  values
}

# ---------------------------------------------------------------- 2. one variable at a time

levene <- function(y, group, centre) {
  deviation <- abs(y - tapply(y, group, centre)[group])
  table <- anova(lm(deviation ~ group))
  list(f = table[1L, "F value"], df1 = table[1L, "Df"], df2 = table[2L, "Df"], p = table[1L, "Pr(>F)"])
}

golden_univariate <- function(x, group) {
  by_name(colnames(x), function(name) {
    y <- x[, name]
    fit <- lm(y ~ group)
    table <- anova(fit)
    list(f = table[1L, "F value"], df1 = table[1L, "Df"], df2 = table[2L, "Df"], p = table[1L, "Pr(>F)"],
         r_squared = summary(fit)$r.squared, total_sd = sd(y), within_sd = summary(fit)$sigma,
         levene_mean = levene(y, group, mean), levene_median = levene(y, group, median))
  })
}

# ---------------------------------------------------------------- 3. each variable given the others

golden_partial <- function(x, group) {
  by_name(colnames(x), function(name) {
    y <- x[, name]
    others <- x[, colnames(x) != name, drop = FALSE]
    full <- lm(y ~ others + group)
    reduced <- lm(y ~ others)
    row <- anova(reduced, full)[2L, ]
    partial <- deviance(full) / deviance(reduced)
    list(f = row[["F"]], df1 = row[["Df"]], df2 = full$df.residual, p = row[["Pr(>F)"]],
         partial_wilks = partial, partial_r_squared = 1 - partial)
  })
}

# ---------------------------------------------------------------- 4. canonical variates

# Roots and axes of B a = lambda W a with a' W a = N - K, through the symmetric problem of W's Cholesky
# factor, in units of the pooled within-class standard deviation.
canonical_axes <- function(x, group) {
  df <- nrow(x) - nlevels(group)
  s <- min(ncol(x), nlevels(group) - 1L)
  sd_within <- sqrt(colSums(within_deviations(x, group)^2) / df)
  z <- sweep(centred(x), 2L, sd_within, "/")
  w <- crossprod(within_deviations(z, group))
  b <- crossprod(class_means(z, group) * sqrt(as.vector(table(group))))
  r <- chol(w)
  symmetric <- backsolve(r, t(backsolve(r, b, transpose = TRUE)), transpose = TRUE)
  e <- eigen((symmetric + t(symmetric)) / 2, symmetric = TRUE)
  standardized <- backsolve(r, e$vectors[, seq_len(s), drop = FALSE]) * sqrt(df)
  largest <- apply(abs(standardized), 2L, which.max)
  standardized <- sweep(standardized, 2L, sign(standardized[cbind(largest, seq_len(s))]), "*")
  list(eigenvalues = e$values[seq_len(s)], standardized = standardized, raw = standardized / sd_within)
}

# The roots k+1..s are all zero: Wilks' lambda with Rao's F and with Bartlett's chi-squared, k = 0..s-1.
dimension_tests <- function(eigenvalues, n, p, classes) {
  s <- length(eigenvalues)
  multiplier <- n - 1 - (p + classes) / 2
  lapply(seq_len(s) - 1L, function(k) {
    wilks <- prod(1 / (1 + eigenvalues[(k + 1L):s]))
    rows <- p - k
    columns <- classes - 1 - k
    df1 <- rows * columns
    root <- if (rows^2 + columns^2 > 5) sqrt((df1^2 - 4) / (rows^2 + columns^2 - 5)) else 1
    df2 <- multiplier * root - df1 / 2 + 1
    f <- (wilks^(-1 / root) - 1) * df2 / df1
    chi2 <- -multiplier * log(wilks)
    list(k = k, wilks = wilks, f = f, df1 = df1, df2 = df2, p = pf(f, df1, df2, lower.tail = FALSE),
         chi2 = chi2, chi2_df = df1, chi2_p = pchisq(chi2, df1, lower.tail = FALSE))
  })
}

between_structure <- function(x, scores, group) {
  means <- class_means(cbind(x, scores), group)
  share <- as.vector(table(group)) / length(group)
  r <- cov.wt(means, wt = share, cor = TRUE, method = "ML")$cor
  r[seq_len(ncol(x)), ncol(x) + seq_len(ncol(scores)), drop = FALSE]
}

golden_canonical <- function(x, group) {
  axes <- canonical_axes(x, group)
  scores <- centred(x) %*% axes$raw
  correlations <- sqrt(axes$eigenvalues / (1 + axes$eigenvalues))
  dummies <- model.matrix(~ group)[, -1L, drop = FALSE]
  agree("cancor", cancor(x, dummies)$cor, correlations)
  agree("lda scaling", abs(lda(x, group)$scaling), abs(axes$raw), 1e-7)
  tests <- dimension_tests(axes$eigenvalues, nrow(x), ncol(x), nlevels(group))
  whole <- summary(manova(x ~ group), test = "Wilks", tol = 0)$stats[1L, ]
  agree("Wilks", c(tests[[1L]]$wilks, tests[[1L]]$f, tests[[1L]]$df2), whole[c(2L, 3L, 5L)])
  list(eigenvalues = I(axes$eigenvalues), correlations = I(correlations), raw = axes$raw,
       constant = I(as.vector(-colMeans(x) %*% axes$raw)),
       standardized_within = axes$standardized, standardized_total = axes$raw * apply(x, 2L, sd),
       structure_within = cor(within_deviations(x, group), within_deviations(scores, group)),
       structure_total = cor(x, scores), structure_between = between_structure(x, scores, group),
       centroids = class_means(scores, group), tests = tests)
}

# ---------------------------------------------------------------- 5. distances between classes

# The same F as a linear hypothesis: the classes i and j merged, within the model of all classes.
merged_f <- function(x, group, i, j) {
  merged <- group
  levels(merged)[c(i, j)] <- "merged"
  narrow <- if (nlevels(merged) > 1L) lm(x ~ merged) else lm(x ~ 1)
  anova(lm(x ~ group), narrow, test = "Wilks", tol = 0)[2L, ]
}

golden_distances <- function(x, group) {
  n <- as.vector(table(group)); N <- sum(n); K <- length(n); p <- ncol(x)
  means <- class_means(x, group)
  root <- qr.R(qr(within_deviations(x, group) / sqrt(N - K), LAPACK = FALSE, tol = 0))
  pairs <- combn(K, 2L)
  apply(pairs, 2L, simplify = FALSE, function(pair) {
    i <- pair[1L]; j <- pair[2L]
    d2 <- sum(backsolve(root, means[i, ] - means[j, ], transpose = TRUE)^2)
    f <- (N - K - p + 1) * n[i] * n[j] * d2 / ((N - K) * p * (n[i] + n[j]))
    df2 <- N - K - p + 1
    hypothesis <- merged_f(x, group, i, j)
    agree("merged classes", c(f, p, df2), unlist(hypothesis[c("approx F", "num Df", "den Df")]), 1e-8)
    list(classes = levels(group)[pair], d2 = d2, f = f, df1 = p, df2 = df2,
         p = pf(f, p, df2, lower.tail = FALSE))
  })
}

# ---------------------------------------------------------------- 6. lda as it comes, signs and all

golden_lda <- function(case) {
  fit <- suppressWarnings(lda(case$x, case$group))
  list(file = case$file, response = case$response, columns = I(colnames(case$x)),
       classes = I(levels(case$group)), nobs = nrow(case$x), dropped = case$dropped,
       scaling = fit$scaling, svd = I(fit$svd))
}

# ---------------------------------------------------------------- 7. log-determinants

# null where the class has too few rows or a column that does not vary: its determinant is zero.
logdet <- function(deviations, df) {
  scale <- sqrt(colSums(deviations^2) / df)
  if (nrow(deviations) <= ncol(deviations) || any(scale == 0)) return(NA_real_)
  values <- svd(sweep(deviations, 2L, scale, "/") / sqrt(df), nu = 0L, nv = 0L)$d
  if (min(values) < 1e-10 * max(values)) return(NA_real_)
  2 * sum(log(values)) + 2 * sum(log(scale))
}

golden_logdet <- function(x, group) {
  parts <- lapply(split(seq_along(group), group), function(rows) centred(x[rows, , drop = FALSE]))
  list(classes = lapply(parts, function(part) logdet(part, nrow(part) - 1L)),
       pooled = logdet(within_deviations(x, group), nrow(x) - nlevels(group)))
}

# ---------------------------------------------------------------- all of it

golden <- function(case) {
  x <- case$x
  group <- case$group
  list(file = case$file, response = case$response, columns = I(colnames(x)), classes = I(levels(group)),
       counts = I(as.integer(table(group))), nobs = nrow(x), dropped = case$dropped,
       manova = golden_manova(x, group), univariate = golden_univariate(x, group),
       partial = golden_partial(x, group), canonical = golden_canonical(x, group),
       distances = golden_distances(x, group), logdet = golden_logdet(x, group))
}

versions <- list(R = paste(R.version$major, R.version$minor, sep = "."), MASS = as.character(packageVersion("MASS")),
                 LAPACK = La_version(), BLAS = basename(La_library()))
output <- file.path(dirname(script), "tests.json")
writeLines(to_json(list(versions = versions, cases = lapply(cases(), golden),
                        lda = lapply(sign_cases(), golden_lda))), output)
