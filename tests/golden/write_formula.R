# Golden design matrices, from R's model.matrix, poly and splines::bs.
#
#   Rscript tests/golden/write_formula.R
#
# writes formula.json beside this script. The intercept is left out. Formulas whose columns R leaves
# redundant (g:h without its main effects) are not among them. The data are written too, so that the
# tests read nothing else. The text of a formula is as R reads it; `^` and I() mean the same here.

suppressMessages(library(jsonlite))
suppressMessages(library(splines))

d <- data.frame(
  x = c(1.5, 2.25, 0.5, 4, 3.5, 2, 1, 5.5),
  z = c(2, -1, 0.5, 3, 1, -2, 4, 0.25),
  g = factor(c("u", "v", "w", "u", "v", "w", "u", "v")),
  h = factor(c("p", "q", "q", "p", "p", "q", "q", "p"))
)
new <- data.frame(x = c(0.75, 5, 3), z = c(0, 1, -1), g = factor(c("w", "u", "v")), h = factor(c("q", "p", "p")))

formulas <- c(
  "x + g", "g + x", "x*g", "g*h", "x:g", "(x + z + g)^2", "x*z*h", "x/g", "g/h", "x + z + x:z",
  "log(x) + I(z^2)", "I((x + z)/2) + h", "poly(x, 3)", "poly(x, 2) + poly(z, 4)", "poly(x, 2):h",
  "bs(x, df = 5)", "bs(x, knots = c(2, 3), degree = 2)", "bs(x, df = 4)*g"
)

columns <- function(m) unname(lapply(seq_len(ncol(m))[-1], function(j) I(as.numeric(m[, j]))))
case <- function(f) {
  frame <- model.frame(as.formula(paste("~", f)), d)
  again <- model.frame(terms(frame), new, xlev = list(g = levels(d$g), h = levels(d$h)))
  list(formula = f, columns = columns(model.matrix(terms(frame), frame)),
       new_columns = columns(model.matrix(terms(frame), again)))
}

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
golden <- list(R = paste(R.version$major, R.version$minor, sep = "."), data = as.list(d), new = as.list(new),
               cases = lapply(formulas, case))
writeLines(toJSON(golden, digits = I(17), auto_unbox = TRUE), file.path(dirname(script), "formula.json"))
