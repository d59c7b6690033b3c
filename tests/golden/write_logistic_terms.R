# Golden values of tests of a logistic regression's terms, from car's Anova of glm and multinom.
#
#   Rscript tests/golden/write_logistic_terms.R
#
# draws births, reads the package's penguins in discrim/datasets, and writes logistic_terms.json, with the births,
# beside this script. Factors have contrasts that sum to zero, without which type III of R is of no use; types I and
# II do not depend on them.

suppressMessages({ library(car); library(nnet); library(jsonlite) })
options(contrasts = c("contr.sum", "contr.poly"))

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- dirname(normalizePath(script))
invisible(Sys.setlocale("LC_COLLATE", "C"))

set.seed(20261123)
n <- 189
births <- data.frame(age = sample(15:40, n, TRUE), lwt = round(rnorm(n, 130, 28)), race = sample(1:3, n, TRUE, c(.5, .15, .35)),
                     smoke = rbinom(n, 1, .4), ht = rbinom(n, 1, .12), ftv = rpois(n, .8))
odds <- with(births, 1.2 - .04 * age - .014 * lwt + .8 * (race == 2) + .5 * (race == 3) + .9 * smoke + 1.1 * ht +
             .0015 * (age - 25) * (lwt - 130))
births <- data.frame(low = rbinom(n, 1, plogis(odds)), births)
for (n in c("race", "smoke", "ht")) births[[n]] <- factor(births[[n]])
penguins <- utils::read.csv(file.path(here, "..", "..", "discrim", "datasets", "penguins.csv"), na.strings = c("NA", ""))
penguins <- na.omit(penguins)
for (n in c("species", "island", "sex")) penguins[[n]] <- factor(penguins[[n]])
for (n in c("bill_depth_mm", "bill_length_mm", "body_mass_g")) penguins[[n]] <- as.numeric(scale(penguins[[n]]))

of_table <- function(table) {
  table <- as.data.frame(table)
  table <- table[!rownames(table) %in% c("NULL", "Residuals", "(Intercept)"), , drop = FALSE]
  statistic <- intersect(c("LR Chisq", "Chisq", "Deviance"), names(table))[1]
  list(terms = I(rownames(table)), statistic = I(table[[statistic]]), df = I(table$Df),
       p = I(table[[grep("^Pr", names(table))]]))
}

two <- function(formula, data, response) {
  # car's refits of the smaller models take glm's own tolerance unless the call says another.
  fit <- eval(bquote(glm(.(formula), data = data, family = binomial(), epsilon = 1e-15, maxit = 100)))
  fit$call$epsilon <- 1e-15; fit$call$maxit <- 100
  list(formula = paste(response, deparse1(formula[-2])),
       lr = list(`1` = of_table(anova(fit, test = "LRT")),
                 `2` = of_table(Anova(fit, type = "II", test.statistic = "LR")),
                 `3` = of_table(Anova(fit, type = "III", test.statistic = "LR"))),
       wald = list(`2` = of_table(Anova(fit, type = "II", test.statistic = "Wald")),
                   `3` = of_table(Anova(fit, type = "III", test.statistic = "Wald"))))
}

many <- function(formula, data, response) {
  # multinom's model frame is made anew from the table that its call names.
  assign("data", data, envir = globalenv())
  fit <- eval(bquote(multinom(.(formula), data = data, trace = FALSE, maxit = 10000, reltol = 1e-16, abstol = 1e-16)))
  list(formula = paste(response, deparse1(formula[-2])),
       lr = list(`2` = of_table(Anova(fit, type = "II")), `3` = of_table(Anova(fit, type = "III"))))
}

penguins$male <- as.integer(penguins$sex == "male")
result <- list(
  births = as.list(births),
  two = list(
    slopes = two(low ~ age * lwt + race, births, "low"),
    slope_by_factor = two(low ~ lwt + age * race, births, "low"),
    factors = two(low ~ lwt + race * smoke + ht, births, "low"),
    three = two(low ~ age + lwt * race + smoke * age + lwt:smoke, births, "low"),
    no_main = two(low ~ lwt + smoke + smoke:race, births, "low")
  ),
  many = list(
    island = many(island ~ bill_length_mm * sex + bill_depth_mm, penguins, "island"),
    sex_by_mass = many(island ~ sex * body_mass_g, penguins, "island")
  ),
  car = as.character(packageVersion("car")), R = as.character(getRversion())
)
write(toJSON(result, digits = I(17), auto_unbox = TRUE), file.path(here, "logistic_terms.json"))
