# Golden values of repeated measures of a single group, and of tests of covariates alone, from car.
#
#   Rscript tests/golden/write_one_group.R
#
# reads OBrienKaiser of carData (O'Brien & Kaiser, 1985, Psychological Bulletin 97, 316-333), and writes
# one_group.json, with that table and two made covariates, beside this script. The tests read the JSON only.

suppressMessages({ library(car); library(carData); library(jsonlite) })

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- dirname(normalizePath(script))

data(OBrienKaiser, package = "carData")
table <- OBrienKaiser
names(table) <- sub(".", "_", names(table), fixed = TRUE)
responses <- grep("^(pre|post|fup)_[1-3]$", names(table), value = TRUE)
table <- table[responses]
set.seed(1)
table$age <- round(rnorm(nrow(table), 40, 10), 1)
table$weight <- round(rnorm(nrow(table), 70, 12), 1)
within <- data.frame(phase = factor(rep(c("pre", "post", "fup"), each = 3), levels = c("pre", "post", "fup")),
                     hour = factor(rep(1:3, 3)))

rows <- function(m) sapply(rownames(m), function(r) unname(m[r, ]), simplify = FALSE)

pillai <- function(tested) sapply(tested$terms, function(term) {
  e <- if (is.list(tested$SSPE)) tested$SSPE[[term]] else tested$SSPE
  eigs <- Re(eigen(qr.coef(qr(e), tested$SSP[[term]]), symmetric = FALSE)$values)
  unname(stats:::Pillai(eigs, tested$df[[term]], tested$error.df))
}, simplify = FALSE)

one <- lm(as.formula(paste0("cbind(", paste(responses, collapse = ", "), ") ~ 1")), data = table)
repeated <- Anova(one, idata = within, idesign = ~ phase * hour, type = "III")
tables <- suppressWarnings(summary(repeated))

alone <- function(formula, type) pillai(Anova(lm(formula, data = table), type = type))
three <- cbind(pre_1, post_1, fup_1) ~ age + weight
product <- cbind(pre_1, post_1, fup_1) ~ age * weight

found <- list(
  table = table,
  repeated = list(pillai = pillai(repeated), univariate = rows(unclass(tables$univariate.tests)),
                  adjusted = rows(unclass(tables$pval.adjustments)), mauchly = rows(unclass(tables$sphericity.tests))),
  covariates = list(`2` = alone(three, "II"), `3` = alone(three, "III")),
  product = list(`2` = alone(product, "II"), `3` = alone(product, "III")),
  single = alone(cbind(pre_1, post_1, fup_1) ~ age, "II")
)
write(toJSON(found, digits = I(15), auto_unbox = TRUE, na = "null"), file.path(here, "one_group.json"))
