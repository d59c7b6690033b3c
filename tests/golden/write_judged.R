# Areas under ROC curves with variances and intervals of DeLong by pROC, of scores with ties.
#
#   Rscript tests/golden/write_judged.R > tests/golden/judged.json
#
# `many` has posteriors of four classes, rounded so that many are tied: the measure of Hand and Till, and the area
# and variance of each class against the rest. The data are written too.
library(pROC)
library(jsonlite)

set.seed(18)
n <- 120
two <- data.frame(y = rep(c(0, 1), c(70, 50)), score = c(rpois(70, 4), rpois(50, 6)))
curve <- roc(two$y, two$score, levels = c(0, 1), direction = "<", quiet = TRUE)
area <- list(
  y = two$y, score = two$score, auc = as.numeric(auc(curve)), variance = var(curve),
  interval = as.numeric(ci.auc(curve, method = "delong"))[c(1, 3)]
)

y <- rep(c("a", "b", "c", "d"), c(40, 35, 30, 15))
raw <- matrix(rgamma(4 * n, 1.2), n, 4)
raw[cbind(1:n, match(y, c("a", "b", "c", "d")))] <- raw[cbind(1:n, match(y, c("a", "b", "c", "d")))] + rgamma(n, 1)
p <- round(raw / rowSums(raw), 1)
colnames(p) <- c("a", "b", "c", "d")
# The controls of a column are the rows of its class, whose posteriors are the larger ones.
many <- multiclass.roc(y, p, direction = ">", quiet = TRUE)
rest <- lapply(colnames(p), function(k) {
  curve <- roc(as.integer(y == k), p[, k], levels = c(0, 1), direction = "<", quiet = TRUE)
  c(as.numeric(auc(curve)), var(curve))
})
cat(toJSON(list(
  two = area,
  many = list(y = y, p = p, hand_till = as.numeric(many$auc), rest = do.call(rbind, rest))
), digits = 16, auto_unbox = TRUE))
