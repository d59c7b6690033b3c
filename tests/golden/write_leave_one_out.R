# Golden posteriors of rows left out: logistic regression and discriminant analysis of birth weights.
#
#   Rscript tests/golden/write_leave_one_out.R
#
# writes leave_one_out.json beside this script. Each row is predicted by glm(), lda() and qda() of the other
# rows, which estimate everything anew; `held` is what lda(CV = TRUE) and qda(CV = TRUE) say, which hold the
# prior of all rows. `wrong` counts the rows that glm() has wrong. The data are written too.

suppressMessages(library(MASS))
suppressMessages(library(jsonlite))

b <- birthwt[, c("low", "age", "lwt", "race", "smoke", "ptl", "ht", "ui", "ftv")]
formulas <- c("age + lwt + race + smoke + ptl + ht + ui + ftv", "lwt + smoke", "age + lwt + ftv")

each <- function(predicted) sapply(seq_len(nrow(b)), predicted)
case <- function(f) {
  text <- as.formula(paste("low ~", f))
  logit <- each(function(i) predict(glm(text, binomial, b[-i, ]), b[i, ], type = "response"))
  refitted <- function(fit) each(function(i) predict(fit(text, b[-i, ]), b[i, ])$posterior[2])
  list(
    formula = f,
    wrong = sum((logit > 0.5) != b$low),
    logistic = I(unname(logit)),
    lda = list(held = I(unname(lda(text, b, CV = TRUE)$posterior[, 2])), refitted = I(refitted(lda))),
    qda = list(held = I(unname(qda(text, b, CV = TRUE)$posterior[, 2])), refitted = I(refitted(qda)))
  )
}
found <- list(data = lapply(b, I), cases = lapply(formulas, case))
here <- dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE)))
write(toJSON(found, digits = 14, auto_unbox = TRUE), file.path(here, "leave_one_out.json"))
