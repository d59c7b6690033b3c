# Golden values of what users of logistic regression ask of a fit: glm, drop1, step, car, sandwich, lmtest, brglm2, nnet.
#
#   Rscript tests/golden/write_logistic_users.R DATA_DIR
#
# reads DATA_DIR/penguins.csv, as the package holds it, and writes logistic_users.json beside this script, numbers with
# all digits. Marginal effects are differences of predictions by small steps of columns and coefficients,
# which leave about seven digits.

suppressMessages({library(car); library(sandwich); library(lmtest); library(brglm2); library(nnet); library(jsonlite)})

arguments <- commandArgs(trailingOnly = TRUE)
if (length(arguments) != 1L) stop("usage: Rscript write_logistic_users.R DATA_DIR")
script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
invisible(Sys.setlocale("LC_COLLATE", "C"))

rows_of <- function(x) unname(lapply(seq_len(nrow(x)), function(i) unname(x[i, ])))
se <- function(v) I(unname(sqrt(diag(v))))
SHOWN <- 1:25

penguins <- read.csv(file.path(arguments, "penguins.csv"), stringsAsFactors = TRUE, na.strings = c("NA", ""))
penguins <- penguins[complete.cases(penguins), ]
n <- nrow(penguins)
penguins$y <- as.integer(penguins$sex) - 1L
penguins$w <- 1 + seq_len(n) %% 3
penguins$g <- seq_len(n) %% 20
tight <- list(epsilon = 1e-15, maxit = 100)

rows <- function(fit) {
  # From its own estimates, so that the weights of the last step are those of the estimates.
  fit <- update(fit, start = coef(fit))
  found <- influence(fit)
  shown <- function(x) I(unname(x)[SHOWN])
  list(deviance = fit$deviance, null_deviance = fit$null.deviance,
       residuals = lapply(c(deviance = "deviance", pearson = "pearson", response = "response", working = "working"),
                          function(kind) shown(residuals(fit, kind))),
       leverage = shown(hatvalues(fit)), cook = shown(cooks.distance(fit)),
       pearson = shown(rstandard(fit, type = "pearson")), studentized = shown(rstandard(fit, type = "deviance")),
       # R's are one step by deviance residuals; that of Newton's method (Pregibon, 1981) is by Pearson's.
       dfbeta = rows_of((found$coefficients * found$pear.res / found$dev.res)[SHOWN, ]))
}
dropped <- function(fit) {
  table <- drop1(fit, test = "Chisq")
  list(terms = I(rownames(table)), df = I(table$Df), deviance = I(table$Deviance), AIC = I(table$AIC),
       LRT = I(table$LRT), p = I(table$`Pr(>Chi)`))
}
effects <- function(fit, columns) {
  # The mean over the rows of the derivative by each column, with its standard error by the delta method.
  mean_effect <- function(beta, column) {
    h <- 1e-4 * sd(fit$data[[column]])
    at <- function(sign) {
      moved <- fit$data
      moved[[column]] <- moved[[column]] + sign * h
      plogis(model.matrix(delete.response(terms(fit)), moved) %*% beta)
    }
    sum(fit$prior.weights * (at(1) - at(-1))) / (2 * h) / sum(fit$prior.weights)
  }
  lapply(setNames(columns, columns), function(column) {
    beta <- coef(fit)
    jacobian <- vapply(seq_along(beta), function(j) {
      h <- 1e-5 * sqrt(vcov(fit)[j, j])
      step <- replace(numeric(length(beta)), j, h)
      (mean_effect(beta + step, column) - mean_effect(beta - step, column)) / (2 * h)
    }, 0)
    I(c(mean_effect(beta, column), sqrt(drop(jacobian %*% vcov(fit) %*% jacobian))))
  })
}
switched <- function(fit, column, first, then) {
  # The mean change of the probability where a column goes from one value to another.
  change <- function(beta) {
    at <- function(value) {
      moved <- fit$data
      moved[[column]][] <- value
      plogis(model.matrix(delete.response(terms(fit)), moved) %*% beta)
    }
    weighted.mean(at(then) - at(first), fit$prior.weights)
  }
  beta <- coef(fit)
  jacobian <- vapply(seq_along(beta), function(j) {
    h <- 1e-5 * sqrt(vcov(fit)[j, j])
    step <- replace(numeric(length(beta)), j, h)
    (change(beta + step) - change(beta - step)) / (2 * h)
  }, 0)
  I(c(change(beta), sqrt(drop(jacobian %*% vcov(fit) %*% jacobian))))
}
robust <- function(fit, groups) {
  list(HC0 = se(vcovHC(fit, type = "HC0")), HC1 = se(vcovHC(fit, type = "HC1")), cluster = se(vcovCL(fit, groups)))
}

formula <- y ~ bill_depth_mm * island + log(body_mass_g)
plain <- glm(formula, binomial, penguins, control = tight)
weighted <- glm(formula, binomial, penguins, weights = w, control = tight)
repeated <- penguins[rep(seq_len(n), penguins$w), ]
long <- glm(formula, binomial, repeated, control = tight)
small <- glm(y ~ bill_depth_mm + island, binomial, penguins, control = tight)
hypothesis <- c("bill_depth_mm = 2", "islandDream = islandTorgersen")
wald <- function(...) linearHypothesis(plain, hypothesis, test = "Chisq", ...)$Chisq[2]

two <- list(
  formula = "sex ~ bill_depth_mm * island + log(body_mass_g)",
  coefficients = I(names(coef(plain))),
  plain = rows(plain), weighted = rows(weighted), drop1 = dropped(plain), drop1_weighted = dropped(weighted),
  robust = robust(plain, penguins$g), robust_weighted = robust(long, repeated$g),
  wald = wald(), wald_HC1 = wald(vcov. = vcovHC(plain, type = "HC1")), wald_df = 2,
  lrtest = I(unlist(lrtest(small, plain)[2, c("Chisq", "Df", "Pr(>Chisq)")], use.names = FALSE)),
  slopes = effects(plain, c("bill_depth_mm", "body_mass_g")),
  slopes_weighted = effects(weighted, c("bill_depth_mm", "body_mass_g")),
  island = lapply(c(Dream = "Dream", Torgersen = "Torgersen"), function(to) switched(plain, "island", "Biscoe", to))
)

firth <- function(formula) glm(formula, binomial, penguins, method = "brglmFit", type = "AS_mean",
                               epsilon = 1e-13, maxit = 10000)
reduced <- firth(y ~ bill_depth_mm + island)
firths <- list(
  formula = "sex ~ bill_depth_mm + island", leverage = I(unname(hatvalues(reduced))[SHOWN]), AIC = AIC(reduced),
  drop1 = lapply(list(bill_depth_mm = y ~ island, island = y ~ bill_depth_mm), function(f) deviance(firth(f))),
  HC0 = se(vcovHC(reduced, type = "HC0")), cluster = se(vcovCL(reduced, penguins$g))
)

walked <- function(fit, scope, direction, k) {
  steps <- step(fit, scope, direction = direction, k = k, trace = 0)
  list(steps = I(as.character(steps$anova$Step)), AIC = I(steps$anova$AIC), deviance = I(steps$anova$`Resid. Dev`),
       final = I(attr(terms(steps), "term.labels")))
}
wide <- y ~ bill_length_mm * species + bill_depth_mm + island + year + flipper_length_mm
full <- glm(wide, binomial, penguins, control = tight)
empty <- glm(y ~ 1, binomial, penguins, control = tight)
steps <- list(
  formula = "sex ~ bill_length_mm * species + bill_depth_mm + island + year + flipper_length_mm",
  forward_aic = walked(empty, wide, "forward", 2), backward_aic = walked(full, ~1, "backward", 2),
  both_aic = walked(empty, wide, "both", 2), backward_bic = walked(full, ~1, "backward", log(n)),
  both_bic = walked(empty, wide, "both", log(n))
)

scaled <- penguins
numeric <- c("bill_length_mm", "bill_depth_mm", "year", "body_mass_g")
scaled[numeric] <- scale(scaled[numeric])
fitted <- function(terms) multinom(reformulate(terms, "island"), data = scaled, trace = FALSE, maxit = 10000,
                                   reltol = 1e-16, abstol = 1e-16)
columns <- c("bill_length_mm", "sex", "bill_depth_mm", "year")
whole <- fitted(columns)
path <- step(whole, trace = 0)
mean_change <- function(column) {
  h <- 1e-4
  at <- function(sign) predict(whole, within(scaled, assign(column, get(column) + sign * h)), type = "probs")
  colMeans(at(1) - at(-1)) / (2 * h)
}
shares <- function(level) {
  moved <- scaled
  moved$sex[] <- level
  colMeans(predict(whole, moved, type = "probs"))
}
many <- list(
  formula = "island ~ bill_length_mm + sex + bill_depth_mm + year", columns = I(columns), scaled = I(numeric),
  deviance = deviance(whole), dropped = I(vapply(columns, function(one) deviance(fitted(setdiff(columns, one))), 0)),
  steps = I(as.character(path$anova$Step)), AIC = I(path$anova$AIC),
  slopes = list(bill_length_mm = I(unname(mean_change("bill_length_mm")))),
  sex = I(unname(shares("male") - shares("female"))), classes = I(levels(penguins$island))
)

cases <- list(two = two, firth = firths, steps = steps, many = many, R = as.character(getRversion()))
write(toJSON(cases, digits = I(17), auto_unbox = TRUE, na = "null"), file.path(dirname(script), "logistic_users.json"))
