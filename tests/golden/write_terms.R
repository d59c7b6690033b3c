# Golden values of linear models of several responses, from car, candisc and heplots.
#
#   Rscript tests/golden/write_terms.R
#
# reads the package's penguins in discrim/datasets and tables of candisc and heplots in ../shared/data/classic
# beside the project, and writes terms.json beside this script. The tests read the JSON only, and the tables.
# Factors have contrasts that sum to zero, without which type III of R is of no use.

suppressMessages({ library(car); library(heplots); library(candisc); library(jsonlite) })
options(contrasts = c("contr.sum", "contr.poly"))

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- dirname(normalizePath(script))
invisible(Sys.setlocale("LC_COLLATE", "C"))

classic <- function(name) {
  utils::read.csv(gzfile(file.path(here, "..", "..", "..", "shared", "data", "classic", name)))
}
penguins <- utils::read.csv(file.path(here, "..", "..", "discrim", "datasets", "penguins.csv"), na.strings = c("NA", ""))
penguins <- na.omit(penguins)
# car takes a residual covariance of grams beside millimetres for singular.
penguins$mass <- penguins$body_mass_g / 1000

factors <- function(data, names) { for (n in names) data[[n]] <- factor(data[[n]]); data }

of_anova <- function(tested) {
  p <- nrow(tested$SSPE)
  tables <- sapply(tested$terms, function(term) {
    rows <- lapply(c("Pillai", "Wilks", "Hotelling-Lawley", "Roy"), function(name) {
      held <- tested; held$test <- name
      printed <- heplots::etasq(held, anova = TRUE, test = name)
      unname(unlist(printed[term, c("Df", "test stat", "approx F", "num Df", "den Df", "eta^2")]))
    })
    names(rows) <- c("pillai", "wilks", "hotelling-lawley", "roy")
    rows
  }, simplify = FALSE)
  tables
}

of_term <- function(model, term, type, centred) {
  found <- candisc(model, term = term, type = type)
  s <- apply(as.matrix(found$coeffs.std), 2, function(v) sign(v[which.max(abs(v))]))
  turn <- function(m) unname(sweep(as.matrix(m), 2, s, `*`))
  list(dfh = unname(found$dfh), dfe = found$dfe, eigenvalues = found$eigenvalues[seq_len(found$ndim)],
       canrsq = found$canrsq[seq_len(found$ndim)], raw = turn(found$coeffs.raw), std = turn(found$coeffs.std),
       structure = turn(found$structure), means = turn(found$means), levels = rownames(as.matrix(found$means)))
}

case <- function(data, formula, types = c("2", "3"), contrast = NULL) {
  model <- lm(formula, data = data)
  tested <- sapply(types, function(type) Anova(model, type = type), simplify = FALSE)
  result <- list(
    tests = lapply(tested, of_anova),
    univariate = lapply(tested, function(each) {
      sapply(each$terms, function(term) unname(diag(each$SSP[[term]]) / each$df[[term]] / (diag(each$SSPE) / each$error.df)), simplify = FALSE)
    }),
    sequential = {
      table <- summary(manova(model), test = "Wilks")$stats
      table <- table[rownames(table) != "Residuals", , drop = FALSE]
      setNames(lapply(seq_len(nrow(table)), function(i) unname(table[i, 1:5])), trimws(rownames(table)))
    },
    params = unname(coef(model)), names = rownames(coef(model)),
    canonical = lapply(tested, function(each) {
      terms <- setdiff(each$terms, "(Intercept)")
      factors <- names(Filter(is.factor, model.frame(model)))
      terms <- Filter(function(t) all(strsplit(t, ":")[[1]] %in% factors), terms)
      sapply(terms, function(term) of_term(model, term, each$type), simplify = FALSE)
    })
  )
  grDevices::pdf(NULL)
  ellipses <- function(size) {
    drawn <- heplot(model, size = size, type = "II")
    list(radius = drawn$radius, centre = unname(drawn$center),
         spans = lapply(drawn$H, function(m) unname(apply(m, 2, max) - drawn$center)),
         error = unname(apply(drawn$E, 2, max) - drawn$center))
  }
  result$ellipses <- list(evidence = ellipses("evidence"), effect = ellipses("effect.size"))
  grDevices::dev.off()
  if (!is.null(contrast)) {
    found <- linearHypothesis(model, contrast)
    result$contrast <- list(SSPH = unname(found$SSPH), SSPE = unname(found$SSPE), df = found$df)
  }
  result
}

found <- list(
  penguins = case(factors(penguins, c("species", "sex")),
                  cbind(bill_length_mm, bill_depth_mm, mass) ~ species * sex + flipper_length_mm,
                  contrast = "species1 - species2 = 0"),
  slopes = case(factors(penguins, c("species")),
                cbind(bill_length_mm, bill_depth_mm, mass) ~ species * flipper_length_mm),
  wolves = case(factors(classic("candisc_Wolves.csv.gz"), c("location", "sex")),
                cbind(x1, x2, x3, x4, x5, x6, x7, x8, x9) ~ location * sex),
  grass = case(factors(classic("candisc_Grass.csv.gz"), c("Species", "Block")),
               cbind(N1, N9, N27, N81, N243) ~ Block + Species),
  skulls = case(factors(classic("heplots_Skulls.csv.gz"), "epoch"), cbind(mb, bh, bl, nh) ~ epoch),
  diabetes = case(factors(classic("heplots_Diabetes.csv.gz"), "group"),
                  cbind(glufast, glutest, instest, sspg) ~ group + relwt)
)
write(toJSON(found, digits = I(15), auto_unbox = TRUE, null = "null"), file.path(here, "terms.json"))
