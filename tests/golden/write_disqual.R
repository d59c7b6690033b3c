# Writes disqual.json: MASS's lda on coordinates of the rows by FactoMineR's MCA, and by its FAMD of mixed columns.
#
#   Rscript write_disqual.R ../../discrim/datasets disqual.json

suppressPackageStartupMessages({library(FactoMineR); library(MASS); library(jsonlite)})

args <- commandArgs(trailingOnly = TRUE)
birds <- na.omit(read.csv(file.path(args[1], "penguins.csv"), na.strings = c("", "NA")))
birds$mass <- cut(birds$body_mass_g, c(0, 3500, 4250, 5000, 1e4), labels = c("a", "b", "c", "d"), right = FALSE)
birds$flipper <- cut(birds$flipper_length_mm, c(0, 190, 205, 1e3), labels = c("x", "y", "z"), right = FALSE)
columns <- c("island", "sex", "mass", "flipper")
birds[c(columns, "species")] <- lapply(birds[c(columns, "species")], factor)
ship <- as.data.frame(Titanic)

case <- function(found, rows, classes, ncp, levels = NULL) {
  y <- found$ind$coord[rows, seq_len(ncp), drop = FALSE]
  fit <- lda(y, classes)
  out <- list(ncp = ncp, eigenvalues = found$eig[seq_len(ncp), 1], posterior = unname(predict(fit, y)$posterior))
  if (!is.null(levels)) {
    out$levels <- levels
    out$coordinates <- unname(found$var$coord[, seq_len(ncp)])
    out$contributions <- unname(found$var$contrib[, seq_len(ncp)]) / 100
  }
  out
}

mca <- function(x, ncp) MCA(x, ncp = ncp, graph = FALSE)
whole <- mca(birds[columns], 8)
passengers <- ship[rep(seq_len(nrow(ship)), ship$Freq), ]
first <- match(seq_len(nrow(ship)), rep(seq_len(nrow(ship)), ship$Freq))
of_ship <- mca(passengers[c("Class", "Sex", "Age")], 3)
numbers <- c("bill_length_mm", "bill_depth_mm")
mixed <- FAMD(birds[c("island", "sex", numbers)], ncp = 4, graph = FALSE)
cell_posterior <- function() {
  found <- case(of_ship, seq_len(nrow(passengers)), passengers$Survived, 3)
  found$posterior <- found$posterior[first, ]
  found
}
out <- list(
  birds = case(whole, seq_len(nrow(birds)), birds$species, 3, rownames(whole$var$coord)),
  every = case(whole, seq_len(nrow(birds)), birds$species, 8),
  ship = c(list(cells = ship), cell_posterior()),
  mixed = case(mixed, seq_len(nrow(birds)), birds$species, 4)
)
write(toJSON(out, digits = I(15), auto_unbox = TRUE, na = "null"), args[2])
