# Golden values of tests for more columns than rows: SHT 0.1.9, highmean 3.0, HDNRA 2.0.1 and HDtest 2.1.
#
#   Rscript tests/golden/write_high_dimensional.R FOLDER
#
# sources FOLDER/SHT, FOLDER/highmean, FOLDER/HDNRA and FOLDER/HDtest, the unpacked sources of the packages, whose
# C++ and Fortran it compiles, reads the tables of discrim/datasets and writes high_dimensional.json beside this script. The tests read the JSON only. The columns
# are over their standard deviations in the rows taken: the first of each class, fewer than there are columns.
# Left out is what differs from its paper: SHT's p-value of Dempster's test takes F for a normal number, its test
# of Li and Chen divides by the variance of another statistic, and HDNRA, highmean and HDtest estimate the
# variance of Chen and Qin's so that it changes with the origin of the columns. HDNRA's test of several classes
# divides whole numbers without a rest: 12 columns and 8 degrees of freedom leave none.

suppressMessages(library(Rcpp))

arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) != 1L) stop("usage: Rscript write_high_dimensional.R FOLDER")
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
invisible(Sys.setlocale("LC_COLLATE", "C"))
for (package in c("SHT", "highmean")) {
  for (file in list.files(file.path(arguments, package, "R"), full.names = TRUE)) source(file)
}
sourceCpp(file.path(arguments, "HDNRA", "src", "HDNRA.cpp"))
source(file.path(arguments, "HDtest", "R", "LCtest.R"))
shared <- file.path(tempdir(), "HDtest.so")
system2("R", c("CMD", "SHLIB", "-o", shared, file.path(arguments, "HDtest", "src", "fortrans.f")))
invisible(dyn.load(shared))

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

# ---------------------------------------------------------------- tables

taken <- function(name, response, rows, without = NULL) {
  table <- read.csv(file.path(dirname(script), "..", "..", "discrim", "datasets", paste0(name, ".csv")))
  classes <- sort(unique(table[[response]]))
  first <- unlist(Map(function(class, n) head(which(table[[response]] == class), n), classes, rows))
  table <- table[first, ]
  x <- as.matrix(table[, setdiff(names(table), c(response, without))])
  x <- sweep(x, 2L, apply(x, 2L, sd), "/")
  lapply(split(seq_len(nrow(x)), table[[response]]), function(own) unname(x[own, , drop = FALSE]))
}

two <- taken("breast_cancer", "diagnosis", c(9, 8))
three <- taken("wine", "cultivar", c(4, 4, 3), "proline")

# ---------------------------------------------------------------- tests

statistic_of <- function(test) list(statistic = unname(test$statistic), p = unname(test$p.value))

of_li_and_chen <- function(test) list(statistic = unname(test$statistics), p = unname(test$p.value))

of_two <- function(x, y) {
  matched <- as.vector(zgzc2020_ts_2cnrt_cpp(x, y))
  nu <- nrow(x) + nrow(y) - 2
  list(
    schott = statistic_of(covk.2007Schott(list(x, y))),
    li_chen = of_li_and_chen(equalCovs(x, y, 0.05, "")),
    cai_liu_xia_covariances = statistic_of(cov2.2013CLX(x, y)),
    srivastava = statistic_of(mean2.2008SD(x, y)),
    srivastava_highmean = list(p = unname(apval_Sri2008(x, y)$pval)),
    cai_liu_xia_means = list(p = unname(apval_Cai2014_samecov(x, y)$pval)),
    dempster = list(
      statistic = unname(mean2.1958Dempster(x, y)$statistic), df1 = matched[4], df2 = nu * matched[4]
    )
  )
}

several <- function(groups) {
  n <- vapply(groups, nrow, 0L)
  design <- model.matrix(~ 0 + factor(rep(seq_along(n), n)))
  contrasts <- cbind(diag(length(n) - 1L), -1)
  list(
    schott = statistic_of(covk.2007Schott(unname(groups))),
    srivastava = list(statistic = ys2012_glht_nabt_cpp(unname(groups), design, contrasts, n, ncol(groups[[1]]))[1])
  )
}

golden <- list(breast_cancer = of_two(two[[1]], two[[2]]), wine = several(three))
writeLines(to_json(golden), file.path(dirname(script), "high_dimensional.json"))
