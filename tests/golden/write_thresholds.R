# Golden values of cut-offs on leave-one-out posteriors, by definition: loops over cut-offs in base R, with posteriors
# of MASS (lda, CV = TRUE) and intervals of binom.test.
#
#   Rscript tests/golden/write_thresholds.R
#
# writes thresholds.json beside this script. The tables come with the package. Candidates are the midpoints between
# distinct posteriors, as in pROC, and the observations at or above a cut-off are assigned to the second class. The
# fold of observation i is i modulo 10.

library(MASS)

here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
datasets <- file.path(here, "..", "..", "discrim", "datasets")

achieved <- function(p, second, cut, prior, costs) {
  # prior: shares of the first and second class, NULL for those of the observations; costs: of a false alarm, of a miss.
  tp <- 0; fp <- 0; fn <- 0; tn <- 0
  for (i in seq_along(p)) {
    called <- p[i] >= cut
    if (called && second[i]) tp <- tp + 1
    if (called && !second[i]) fp <- fp + 1
    if (!called && second[i]) fn <- fn + 1
    if (!called && !second[i]) tn <- tn + 1
  }
  sensitivity <- tp / (tp + fn)
  specificity <- tn / (tn + fp)
  if (is.null(prior)) prior <- c(tn + fp, tp + fn) / length(p)
  a <- prior[2] * sensitivity; b <- prior[1] * (1 - specificity)
  c <- prior[1] * specificity; d <- prior[2] * (1 - sensitivity)
  list(cut = cut, counts = c(tn, fp, fn, tp), sensitivity = sensitivity, specificity = specificity,
       ppv = a / (a + b), npv = c / (c + d), youden = sensitivity + specificity - 1, cost = b * costs[1] + d * costs[2])
}

every_cut <- function(p, second, prior, costs) {
  values <- sort(unique(p))
  cuts <- c(-Inf, (head(values, -1) + tail(values, -1)) / 2, Inf)
  lapply(rev(cuts), function(cut) achieved(p, second, cut, prior, costs))
}

# The best of some cut-offs; of equal ones the lowest, and the highest for a required specificity.
best <- function(table, criterion, target) {
  chosen <- NULL
  for (row in table) {
    if (criterion %in% c("sensitivity", "specificity") && row[[criterion]] < target - 1e-12) next
    value <- switch(criterion, sensitivity = row$specificity, specificity = row$sensitivity,
                    youden = row$sensitivity + row$specificity, costs = -row$cost)
    better <- is.null(chosen) || value > chosen$value + 1e-12
    tied <- !better && value > chosen$value - 1e-12 && criterion != "specificity"
    if (better || tied) { chosen <- row; chosen$value <- value }
  }
  chosen
}

interval <- function(hits, n) as.numeric(binom.test(hits, n)$conf.int)

chosen_by <- function(p, second, criterion, target, prior, costs) {
  row <- best(every_cut(p, second, prior, costs), criterion, target)
  counts <- numeric(4); cuts <- numeric(10)
  fold <- (seq_along(p) - 1) %% 10
  for (f in 0:9) {
    inside <- fold == f
    inner <- best(every_cut(p[!inside], second[!inside], prior, costs), criterion, target)
    cuts[f + 1] <- inner$cut
    counts <- counts + achieved(p[inside], second[inside], inner$cut, c(.5, .5), costs)$counts
  }
  k <- row$counts; n <- counts
  list(criterion = criterion, target = target, prior = prior, cut = row$cut, counts = k, cost = row$cost,
       intervals = list(interval(k[4], k[4] + k[3]), interval(k[1], k[1] + k[2]), interval(k[4], k[4] + k[2]),
                        interval(k[1], k[1] + k[3])),
       nested_counts = n, nested_cuts = cuts)
}

average_precision <- function(p, second) {
  total <- 0; last <- 0
  for (cut in sort(unique(p), decreasing = TRUE)) {
    called <- p >= cut
    recall <- sum(called & second) / sum(second)
    total <- total + (recall - last) * sum(called & second) / sum(called)
    last <- recall
  }
  total
}

cases_of <- function(table, response, columns, every) {
  data <- read.csv(file.path(datasets, paste0(table, ".csv")), na.strings = c("NA", ""))
  data <- data[complete.cases(data[c(response, columns)]), ]
  y <- factor(data[[response]])
  p <- lda(as.matrix(data[columns]), y, CV = TRUE)$posterior[, 2]
  second <- y == levels(y)[2]
  costs <- c(1, 5)
  table_rows <- every_cut(p, second, NULL, costs)
  weighted <- every_cut(p, second, c(.9, .1), costs)
  shown <- seq(1, length(table_rows), by = every)
  list(table = table, response = response, columns = columns, every = every, posteriors = unname(p)[seq(1, length(p), by = every)],
       thresholds = table_rows[shown], weighted = weighted[shown], average_precision = average_precision(p, second),
       chosen = list(chosen_by(p, second, "sensitivity", .95, NULL, costs), chosen_by(p, second, "specificity", .9, NULL, costs),
                     chosen_by(p, second, "youden", NULL, NULL, costs), chosen_by(p, second, "costs", NULL, NULL, costs),
                     chosen_by(p, second, "costs", NULL, c(.9, .1), costs)))
}

json <- function(x) {
  if (is.null(x)) return("null")
  if (is.list(x)) {
    inner <- vapply(x, json, "")
    if (is.null(names(x))) return(paste0("[", paste(inner, collapse = ", "), "]"))
    return(paste0("{", paste0('"', names(x), '": ', inner, collapse = ", "), "}"))
  }
  text <- if (is.character(x)) paste0('"', x, '"') else sprintf("%.16g", x)
  text[is.nan(x) & !is.character(x)] <- "null"
  text[x %in% Inf] <- '"inf"'
  text[x %in% -Inf] <- '"-inf"'
  if (length(x) == 1 && is.null(names(x))) text else paste0("[", paste(text, collapse = ", "), "]")
}

about <- list(R = R.version.string, MASS = as.character(packageVersion("MASS")))
cases <- list(cases_of("breast_cancer", "diagnosis", c("radius_mean", "texture_mean"), 37),
              cases_of("penguins", "sex", c("bill_length_mm", "body_mass_g"), 23))
writeLines(json(list(about = about, cases = cases)), file.path(here, "thresholds.json"))
