# Writes permanova.json: permutation tests of distances by R's vegan (adonis2, vegdist, betadisper, permutest) of
# the dune meadows of Jongman, ter Braak and van Tongeren (1987).
#
#   Rscript tests/golden/write_permanova.R
#
# writes permanova.json beside this script. The tests read the JSON only.

suppressMessages({ library(vegan); library(jsonlite) })

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- dirname(normalizePath(script))

data(dune)
data(dune.env)
env <- data.frame(
  A1 = dune.env$A1,
  management = as.character(dune.env$Management),
  use = as.character(dune.env$Use),
  moisture = paste0("m", dune.env$Moisture)
)

tested <- function(formula, rows = seq_len(nrow(dune)), method = "bray", by = "terms", perm = 99, ...) {
  species <- dune[rows, ]
  data <- env[rows, ]
  environment(formula) <- environment()
  found <- adonis2(formula, data = data, method = method, by = by, permutations = perm, ...)
  list(term = rownames(found), df = found$Df, SS = found$SumOfSqs, R2 = found$R2, F = found$F,
       p = found[["Pr(>F)"]])
}

every <- function(control, n) {
  control <- update(control, maxperm = 1e5, complete = TRUE, minperm = 1e5)
  allPerms(n, control)
}

metrics <- c(euclidean = "euclidean", manhattan = "manhattan", "bray-curtis" = "bray", jaccard = "jaccard",
             gower = "gower", canberra = "canberra", hellinger = "hellinger")
by_metric <- lapply(metrics, function(method) {
  species <- if (method == "hellinger") decostand(dune, "hellinger") else dune
  d <- vegdist(species, if (method == "hellinger") "euclidean" else method)
  found <- adonis2(d ~ management, data = env, permutations = 9)
  list(distances = as.vector(d), F = found$F[1], SS = found$SumOfSqs[1])
})

env$side <- rep(c("a", "a", "b", "b"), 5)
few <- c(1, 2, 5, 3, 11, 12, 4)
eight <- c(1:4, 9:12)
halves <- factor(rep(1:2, each = 4))
pairs <- factor(rep(1:4, each = 2))
plots <- how(plots = Plots(pairs, type = "free"), within = Within(type = "none"))
exact <- list(
  labels = tested(species ~ side, few, perm = every(how(), 7)),
  rows = tested(species ~ side + A1, few, perm = every(how(), 7)),
  blocks = tested(species ~ side + A1, eight, perm = every(how(blocks = halves), 8)),
  plots = tested(species ~ side + A1, eight, perm = every(plots, 8))
)

set.seed(1)
random <- list(
  terms = tested(species ~ moisture * A1, perm = 4999),
  margin = tested(species ~ management + A1 + moisture, by = "margin", perm = 4999),
  blocks = tested(species ~ management + A1, perm = how(nperm = 4999, blocks = factor(env$use)))
)

spread <- list()
for (method in c("bray", "euclidean", "gower")) for (type in c("centroid", "median")) for (adjust in c(FALSE, TRUE)) {
  d <- vegdist(dune, method)
  found <- betadisper(d, factor(env$management), type = type, bias.adjust = adjust)
  test <- anova(found)
  random_test <- permutest(found, pairwise = TRUE, permutations = 4999)
  spread[[length(spread) + 1]] <- list(
    method = names(metrics)[match(method, metrics)], centre = type, adjust = adjust, distances = as.vector(found$distances),
    df = test$Df, SS = test[["Sum Sq"]], F = test$F[1], p = test[["Pr(>F)"]][1],
    p_permutation = random_test$tab[["Pr(>F)"]][1],
    t = as.vector(random_test$statistic[-1]), pair_p = as.vector(random_test$pairwise$observed),
    pair_p_permutation = as.vector(random_test$pairwise$permuted)
  )
}

made <- list(
  by = paste("R", getRversion(), "vegan", packageVersion("vegan")),
  species = dune, env = env, few = few, eight = eight,
  terms = tested(species ~ management * A1), margin = tested(species ~ management + A1 + moisture, by = "margin"),
  by_metric = by_metric, exact = exact, random = random, spread = spread
)
write(toJSON(made, digits = 15, auto_unbox = TRUE, na = "null", dataframe = "columns"), file.path(here, "permanova.json"))
