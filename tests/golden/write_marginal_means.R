# Golden values of marginal means and of their contrasts, from emmeans.
#
#   Rscript tests/golden/write_marginal_means.R
#
# reads the package's penguins, and writes marginal_means.json beside this script. The tests read the JSON only.

suppressMessages({ library(emmeans); library(jsonlite) })
emm_options(msg.interaction = FALSE, msg.nesting = FALSE)

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- dirname(normalizePath(script))
invisible(Sys.setlocale("LC_COLLATE", "C"))

penguins <- utils::read.csv(file.path(here, "..", "..", "discrim", "datasets", "penguins.csv"), na.strings = c("NA", ""))
penguins <- na.omit(penguins)
for (name in c("species", "sex", "island")) penguins[[name]] <- factor(penguins[[name]])
penguins$mass <- penguins$body_mass_g / 1000

columns <- function(frame, names) lapply(as.list(as.data.frame(frame))[names], as.vector)

# Values by (by-groups, mean or contrast, response), the response fastest.
ordered_rows <- function(frame, by, label, responses) {
  keys <- lapply(c(by, label), function(name) factor(frame[[name]], levels = unique(as.character(frame[[name]]))))
  keys <- c(keys, list(factor(frame$response, levels = responses)))
  frame[do.call(order, keys), ]
}

case <- function(model, factors, by = NULL, weights = "equal", at = list(), level = 0.95, multivariate = TRUE) {
  data <- penguins
  responses <- colnames(coef(model))
  grid <- ref_grid(model, at = at, cov.keep = character(0), mult.name = "response")
  means <- emmeans(grid, factors, by = c(by, "response"), weights = weights, level = level)
  table <- as.data.frame(summary(means, infer = c(TRUE, FALSE)))
  table <- do.call(rbind, lapply(list(table), function(frame) {
    keys <- lapply(c(by, factors), function(name) frame[[name]])
    frame[do.call(order, c(keys, list(factor(frame$response, levels = responses)))), ]
  }))
  result <- list(call = list(factors = factors, by = by, weights = weights, at = at, level = level),
                 means = columns(table, c("emmean", "SE", "lower.CL", "upper.CL")))
  result$pairs <- sapply(c("tukey", "scheffe", "sidak", "bonferroni", "holm", "none"), function(adjust) {
    frame <- as.data.frame(summary(contrast(means, "pairwise"), adjust = adjust, infer = c(TRUE, TRUE), level = level))
    columns(ordered_rows(frame, by, "contrast", responses), c("estimate", "SE", "t.ratio", "p.value", "lower.CL", "upper.CL"))
  }, simplify = FALSE)
  result$contrasts <- sapply(c("trt.vs.ctrl", "consec", "eff", "poly"), function(method) {
    frame <- as.data.frame(summary(contrast(means, method), adjust = "sidak", infer = c(TRUE, TRUE), level = level))
    columns(ordered_rows(frame, by, "contrast", responses), c("estimate", "SE", "t.ratio", "p.value", "lower.CL", "upper.CL"))
  }, simplify = FALSE)
  if (multivariate) {
    joint <- emmeans(grid, c(factors, "response"), by = by, weights = weights)
    result$multivariate <- sapply(c("sidak", "holm"), function(adjust) {
      frame <- as.data.frame(mvcontrast(joint, "pairwise", mult.name = "response", adjust = adjust))
      columns(frame, c("T.square", "df1", "df2", "F.ratio", "p.value"))
    }, simplify = FALSE)
  }
  result
}

full <- lm(cbind(bill_length_mm, bill_depth_mm, mass) ~ species * sex + flipper_length_mm, data = penguins)
slopes <- lm(cbind(bill_length_mm, bill_depth_mm, mass) ~ species * flipper_length_mm + sex, data = penguins)
additive <- lm(cbind(bill_length_mm, bill_depth_mm, mass) ~ species + sex + island + log(flipper_length_mm), data = penguins)
curved <- lm(cbind(bill_length_mm, bill_depth_mm, mass) ~ species * sex + poly(flipper_length_mm, 2), data = penguins)
single <- lm(cbind(bill_length_mm, mass) ~ species, data = penguins)
nested <- lm(cbind(bill_length_mm, bill_depth_mm) ~ species * island, data = penguins)
adelie <- droplevels(subset(penguins, species == "Adelie"))
three <- lm(cbind(bill_length_mm, mass) ~ island * sex, data = adelie)

found <- list(
  penguins = case(full, "species"),
  by = case(full, "species", "sex"),
  proportional = case(full, "species", weights = "proportional", level = 0.9),
  cells = case(full, c("species", "sex")),
  sexes = case(full, "sex", "species"),
  slopes = case(slopes, "species"),
  at = case(slopes, "species", at = list(flipper_length_mm = 190)),
  additive = case(additive, "species", weights = "proportional"),
  logarithm = case(additive, "island"),
  curved = case(curved, "species", "sex"),
  single = case(single, "species"),
  adelie = case(three, "island", weights = "proportional"),
  nested = case(nested, "species", "island", multivariate = FALSE)
)
write(toJSON(found, digits = I(15), auto_unbox = TRUE, na = "null"), file.path(here, "marginal_means.json"))
