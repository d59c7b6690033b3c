# Golden values of linear and quadratic discriminant analysis, from MASS and base R.
#
#   Rscript tests/golden/write_mass.R DATA_DIR
#
# reads DATA_DIR/classic/*.csv.gz and writes mass.json beside this script. The tests read the JSON only;
# the tables themselves stay out of the project. Numbers are written with 17 significant digits, so that
# they read back as the doubles R had; jsonlite stops at 15, hence the small writer below.

suppressMessages(library(MASS))

arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) != 1L) stop("usage: Rscript write_mass.R DATA_DIR")
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
invisible(Sys.setlocale("LC_COLLATE", "C"))

# ---------------------------------------------------------------- JSON

json_number <- function(x) {
  if (is.integer(x)) return(ifelse(is.na(x), "null", as.character(x)))
  ifelse(is.finite(x), sprintf("%.17g", x), "null")
}

json_string <- function(x) paste0('"', gsub('"', '\\"', gsub("\\", "\\\\", x, fixed = TRUE), fixed = TRUE), '"')

# A named list is an object; a matrix a list of its rows; I(x) an array even where it has one element.
to_json <- function(x) {
  if (is.list(x)) {
    items <- vapply(x, to_json, "")
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

# `group` is the response; every other column of `data` is a predictor, in this order.
cases <- function() {
  iris <- read_table("datasets_iris")
  names(iris) <- tolower(gsub(".", "_", names(iris), fixed = TRUE))
  penguins <- read_table("palmerpenguins_penguins")
  crabs <- read_table("MASS_crabs")
  pima <- read_table("MASS_Pima.tr")
  fgl <- read_table("MASS_fgl")
  vowel <- read_table("ElemStatLearn_vowel.train")
  wine <- read_table("candisc_Wine")
  bill <- c("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")
  list(
    iris = list(file = "datasets_iris", response = "species", group = iris$species,
                x = iris[setdiff(names(iris), "species")]),
    penguins = list(file = "palmerpenguins_penguins", response = "species", group = penguins$species,
                    x = penguins[bill]),
    crabs = list(file = "MASS_crabs", response = "sp + sex", group = paste0(crabs$sp, crabs$sex),
                 x = crabs[c("FL", "RW", "CL", "CW", "BD")]),
    pima = list(file = "MASS_Pima.tr", response = "type", group = pima$type, x = pima[setdiff(names(pima), "type")]),
    fgl = list(file = "MASS_fgl", response = "type", group = fgl$type, x = fgl[setdiff(names(fgl), "type")]),
    vowel = list(file = "ElemStatLearn_vowel.train", response = "y", group = vowel$y, x = vowel[setdiff(names(vowel), "y")]),
    wine = list(file = "candisc_Wine", response = "Cultivar", group = wine$Cultivar, x = wine[setdiff(names(wine), "Cultivar")])
  )
}

# ---------------------------------------------------------------- what is recorded

# Some rows in full, all rows through their sum; rows are counted from 0 among the complete rows.
posterior <- function(values, rows) list(rows = values[rows, , drop = FALSE], sum = I(colSums(values)))

classes_of <- function(labels) I(as.integer(labels) - 1L)

uncertain_rows <- function(group, x) {
  best <- apply(predict(lda(x, group))$posterior, 1L, max)
  spread <- round(seq(1, length(group), length.out = 18L))
  sort(unique(c(spread, order(best)[seq_len(12L)])))
}

predictions <- function(fit, x, rows, other) {
  plugin <- predict(fit, x)
  list(class = classes_of(plugin$class),
       plugin = posterior(plugin$posterior, rows),
       predictive = posterior(predict(fit, x, method = "predictive")$posterior, rows),
       debiased = posterior(predict(fit, x, method = "debiased")$posterior, rows),
       plugin_other_prior = posterior(predict(fit, x, prior = other)$posterior, rows))
}

leave_one_out <- function(fit, rows) {
  broken <- which(!is.finite(rowSums(fit$posterior)))
  list(class = classes_of(fit$class), rows = fit$posterior[rows, , drop = FALSE], not_finite = I(broken - 1L))
}

golden_lda <- function(x, group, method, rows, other) {
  fit <- lda(x, group, method = method)
  refit <- lda(x, group, prior = other, method = method)
  plugin <- predict(fit, x)
  values <- c(
    list(prior = I(fit$prior), counts = I(as.integer(fit$counts)), means = fit$means,
         scaling = fit$scaling, svd = I(fit$svd), x = plugin$x[rows, , drop = FALSE]),
    predictions(fit, x, rows, other),
    list(dimen_1 = posterior(predict(fit, x, dimen = 1)$posterior, rows),
         leave_one_out = leave_one_out(lda(x, group, method = method, CV = TRUE), rows),
         other_prior = list(scaling = refit$scaling, svd = I(refit$svd),
                            plugin = posterior(predict(refit, x)$posterior, rows),
                            dimen_1 = posterior(predict(refit, x, dimen = 1)$posterior, rows)))
  )
  if (length(fit$svd) > 1L) values$dimen_2 <- posterior(predict(fit, x, dimen = 2)$posterior, rows)
  values
}

golden_qda <- function(x, group, method, rows, other) {
  fit <- tryCatch(qda(x, group, method = method), error = function(e) conditionMessage(e))
  if (is.character(fit)) return(list(error = fit))
  c(list(prior = I(fit$prior), counts = I(as.integer(fit$counts)), means = fit$means, logdet = I(fit$ldet)),
    predictions(fit, x, rows, other),
    list(leave_one_out = leave_one_out(qda(x, group, method = method, CV = TRUE), rows)))
}

multivariate_tests <- function(x, group) {
  fit <- manova(as.matrix(x) ~ group)
  names <- c(wilks = "Wilks", pillai = "Pillai", hotelling_lawley = "Hotelling-Lawley", roy = "Roy")
  lapply(names, function(test) {
    row <- summary(fit, test = test)$stats[1L, ]
    list(statistic = row[[2L]], f = row[[3L]], df1 = row[[4L]], df2 = row[[5L]], pvalue = row[[6L]])
  })
}

logdet <- function(matrix) as.numeric(determinant(matrix)$modulus)

# Box's M with its two approximations, and the maximised joint log-likelihoods, straight from the formulas.
equal_covariances <- function(x, group) {
  parts <- split(x, group)
  n <- vapply(parts, nrow, 0L); N <- sum(n); K <- length(n); p <- ncol(x)
  sscp <- lapply(parts, function(part) crossprod(scale(as.matrix(part), scale = FALSE)))
  pooled <- Reduce(`+`, sscp)
  ll <- function(n, S) -n / 2 * (p * log(2 * pi) + logdet(S / n) + p)
  llf <- sum(n * log(n / N)) + ll(N, pooled)
  values <- list(llf_lda = llf)
  if (all(n > p)) {
    nu <- n - 1; total <- sum(nu)
    M <- total * logdet(pooled / total) - sum(mapply(function(S, v) v * logdet(S / v), sscp, nu))
    c1 <- (sum(1 / nu) - 1 / total) * (2 * p^2 + 3 * p - 1) / (6 * (p + 1) * (K - 1))
    a1 <- p * (p + 1) * (K - 1) / 2
    c2 <- (sum(1 / nu^2) - 1 / total^2) * (p - 1) * (p + 2) / (6 * (K - 1))
    a2 <- (a1 + 2) / abs(c2 - c1^2)
    if (c2 > c1^2) {
      f <- M * (1 - c1 - a1 / a2) / a1
    } else {
      b2 <- (1 - c1 + 2 / a2) / a2
      f <- a2 * b2 * M / (a1 * (1 - b2 * M))
    }
    chi2 <- (1 - c1) * M
    llf_qda <- sum(n * log(n / N)) + sum(mapply(function(S, m) ll(m, S), sscp, n))
    values <- c(values, list(
      llf_qda = llf_qda, likelihood_ratio = 2 * (llf_qda - llf),
      likelihood_ratio_pvalue = pchisq(2 * (llf_qda - llf), a1, lower.tail = FALSE),
      box_m = M, chi2 = chi2, df = a1, chi2_pvalue = pchisq(chi2, a1, lower.tail = FALSE),
      f = f, df2 = a2, f_pvalue = pf(f, a1, a2, lower.tail = FALSE)))
  }
  values
}

# Two classes: the t of each variable in the least-squares regression of the indicator of the second level,
# which is the exact test of a slope of the linear rule (df N - p - 1).
indicator_regression <- function(x, group) {
  pair <- levels(group)[1:2]
  keep <- group %in% pair
  fit <- lm(as.numeric(group[keep] == pair[2L]) ~ as.matrix(x[keep, ]))
  table <- summary(fit)$coefficients[-1L, , drop = FALSE]
  list(classes = pair, t = I(unname(table[, 3L])), pvalue = I(unname(table[, 4L])), df = fit$df.residual)
}

golden <- function(case) {
  complete <- complete.cases(case$x) & !is.na(case$group)
  x <- case$x[complete, ]
  group <- factor(case$group[complete])
  other <- seq_along(levels(group)) / sum(seq_along(levels(group)))
  rows <- uncertain_rows(group, x)
  both <- function(f) lapply(c(moment = "moment", mle = "mle"), function(m) f(as.matrix(x), group, m, rows, other))
  list(file = case$file, response = case$response, columns = I(names(x)), classes = I(levels(group)),
       nobs = nrow(x), dropped = sum(!complete), rows = I(rows - 1L), other_prior = I(other),
       lda = both(golden_lda), qda = both(golden_qda),
       manova = multivariate_tests(x, group), equal_covariances = equal_covariances(x, group),
       indicator_regression = indicator_regression(x, group))
}

versions <- list(R = paste(R.version$major, R.version$minor, sep = "."), MASS = as.character(packageVersion("MASS")))
output <- file.path(dirname(script), "mass.json")
writeLines(to_json(list(versions = versions, cases = lapply(cases(), golden))), output)
