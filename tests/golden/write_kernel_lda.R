# Golden values of regressions of class indicators on kernels, from kernlab's lssvm.
#
#   Rscript tests/golden/write_kernel_lda.R
#
# reads the tables that come with the package and writes kernel_lda.json beside this script, numbers with 15
# significant digits. Columns are divided by their standard deviations (divisor N). The ridge is n times the tau of
# lssvm, which solves for all rows with reduced = FALSE, and does so only where no kernel is nearly singular. The
# width of the gaussian kernel exp(-sigma |d|^2) is 1 / sqrt(2 sigma). `fitted` are the indicators fitted to every
# seventh row.

suppressMessages({library(kernlab); library(jsonlite)})

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
here <- dirname(script)
rows_of <- function(x) unname(lapply(seq_len(nrow(x)), function(i) unname(x[i, ])))

case <- function(name, response, columns, kernels) {
  data <- read.csv(file.path(here, "..", "..", "discrim", "datasets", paste0(name, ".csv")))
  data <- data[complete.cases(data[, c(response, columns)]), c(response, columns)]
  x <- as.matrix(data[columns])
  x <- scale(x, scale = sqrt(colMeans(scale(x, scale = FALSE)^2)))
  y <- factor(data[[response]])
  chosen <- seq(1, nrow(x), by = 7)
  fits <- lapply(kernels, function(each) {
    fit <- lssvm(x, y, scaled = FALSE, kernel = each$kernel, kpar = each$kpar, tau = each$tau,
                 reduced = FALSE, fit = FALSE)
    fitted <- kernelMult(kernelf(fit), x[chosen, ], xmatrix(fit), alpha(fit))
    fitted <- sweep(fitted, 2, b(fit), "+")
    list(width = 1 / sqrt(2 * each$kpar$sigma), ridge = nrow(x) * each$tau, fitted = rows_of(fitted))
  })
  list(response = response, columns = columns, fits = fits)
}

kernels <- list(
  narrow = list(kernel = "rbfdot", kpar = list(sigma = 2), tau = 0.002),
  wider = list(kernel = "rbfdot", kpar = list(sigma = 0.5), tau = 0.0005)
)
cases <- list(
  penguins = case("penguins", "species", c("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"),
                  kernels),
  wine = case("wine", "cultivar", c("alcohol", "malic_acid", "ash", "hue"), kernels)
)
about <- list(R = R.version.string, kernlab = as.character(packageVersion("kernlab")))
write(toJSON(list(about = about, cases = cases), digits = I(15), auto_unbox = TRUE, pretty = FALSE),
      file.path(here, "kernel_lda.json"))
