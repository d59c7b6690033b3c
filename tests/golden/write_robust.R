# Golden values of robust discriminant analysis: MASS's lda and qda by method = "t", cov.trob, and rrcov.
#
#   Rscript tests/golden/write_robust.R DATA_DIR
#
# reads DATA_DIR/classic/*.csv.gz and writes robust.json beside this script. The tests read the JSON only.
# MASS stops its search when no weight moves by more than 0.01, and its lda prints the weights of each step;
# cov.trob takes a tolerance and is run until nothing changes. rrcov draws 500 random starts by default; it is
# given a seed, and stays without its factors for small samples, which ours has not.

suppressMessages({library(MASS); library(rrcov)})

arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) != 1L) stop("usage: Rscript write_robust.R DATA_DIR")
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

# ---------------------------------------------------------------- what is asked of each table

plain <- function(x) unname(as.matrix(x))

t_of <- function(x, g, nu) {
  invisible(capture.output(l <- lda(x, g, method = "t", nu = nu)))
  q <- qda(x, g, method = "t", nu = nu)
  classes <- lapply(levels(g), function(k) {
    found <- cov.trob(x[g == k, ], nu = nu, tol = 1e-13, maxit = 10000)
    own <- q$scaling[, , k]
    list(center = unname(found$center), scale = plain(found$cov), qda_cov = plain(solve(own %*% t(own))))
  })
  names(classes) <- levels(g)
  list(nu = nu, lda_means = plain(l$means), lda_scaling = plain(l$scaling), lda_svd = I(unname(l$svd)),
       qda_means = plain(q$means), qda_ldet = I(unname(q$ldet)), classes = classes)
}

mcd_of <- function(x, g) {
  control <- CovControlMcd(use.correction = FALSE)
  set.seed(1)
  classes <- lapply(levels(g), function(k) {
    found <- CovMcd(x[g == k, ], control = control)
    list(best = I(found@best), crit = found@crit, quan = found@quan, center = I(unname(found@center)),
         cov = plain(found@cov))
  })
  names(classes) <- levels(g)
  set.seed(1)
  linda <- Linda(x, g, cov.control = control)
  set.seed(1)
  default <- Linda(x, g)
  quadratic <- QdaCov(x, g)
  list(classes = classes, linda_center = plain(linda@center), linda_cov = plain(linda@cov),
       linda_best = I(linda@covobj@best), linda_crit = linda@covobj@crit,
       default_center = plain(default@center), default_cov = plain(default@cov),
       qda_center = plain(quadratic@center))
}

case <- function(file, response, columns) {
  frame <- read.csv(file.path(arguments, "classic", paste0(file, ".csv.gz")))
  frame <- frame[complete.cases(frame[, c(response, columns)]), ]
  x <- as.matrix(frame[, columns])
  g <- factor(frame[[response]])
  fits <- lapply(c(3, 5, 30), function(nu) t_of(x, g, nu))
  names(fits) <- c("3", "5", "30")
  list(file = file, response = response, columns = columns, t = fits, mcd = mcd_of(x, g))
}

cases <- list(
  iris = case("datasets_iris", "Species", c("Sepal.Length", "Sepal.Width", "Petal.Length")),
  penguins = case("palmerpenguins_penguins", "species",
                  c("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")),
  hemophilia = case("rrcov_hemophilia", "gr", c("AHFactivity", "AHFantigen")),
  wine = case("candisc_Wine", "Cultivar", c("Alcohol", "MalicAcid", "Ash", "AlcAsh"))
)
versions <- list(R = R.version.string, MASS = as.character(packageVersion("MASS")),
                 rrcov = as.character(packageVersion("rrcov")))
writeLines(to_json(list(versions = versions, cases = cases)), file.path(dirname(script), "robust.json"))
