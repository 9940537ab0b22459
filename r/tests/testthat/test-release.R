skip_without_parquet <- function() {
  packages <- c("arrow", "nanoparquet")
  if (any(vapply(packages, requireNamespace, TRUE, quietly = TRUE))) return(invisible())
  if (!nzchar(Sys.getenv("RETICULATE_PYTHON"))) skip("Nothing here reads Parquet")
}

skip_without_understudy <- function() {
  named <- nzchar(Sys.getenv("RETICULATE_PYTHON"))
  if (!named || !reticulate::py_module_available("understudy")) skip("No Python has Understudy")
}

test_that("a release is read with its types, labels and missing values", {
  skip_without_parquet()
  release <- read_release(example_release())
  expect_s3_class(release, "understudy_release")
  expect_identical(vapply(release$sets, nrow, 1L), rep(2000L, 3))
  first <- release$sets[[1]]
  expect_identical(names(first), c("sex", "works", "health", "rooms"))
  expect_identical(levels(first$sex), c("man", "woman"))
  expect_identical(levels(first$health), c("bad", "fair", "good"))
  expect_true(is.ordered(first$health))
  expect_type(first$works, "logical")
  expect_true(all(first$rooms >= 1 & first$rooms <= 6, na.rm = TRUE))
  kept <- read_release(example_release(), absent = "keep")$sets[[1]]
  expect_identical(sum(kept$rooms == -9), sum(is.na(first$rooms)))
  expect_identical(sum(kept$health == "refused"), sum(is.na(first$health)))
  expect_output(print(release), "3 synthetic sets of 2,000 rows and 4 columns")
})

test_that("the codebook names each level and each missing-value code", {
  skip_without_parquet()
  found <- codebook(read_release(example_release()))
  expect_identical(found$label[found$column == "health"], c("bad", "fair", "good", "refused"))
  expect_identical(found$absence[found$column == "rooms"], "missing")
})

test_that("a changed file is refused before anything is read", {
  copy <- tempfile()
  dir.create(copy)
  on.exit(unlink(copy, recursive = TRUE))
  file.copy(example_release(), copy, recursive = TRUE)
  folder <- file.path(copy, basename(example_release()))
  cat("x", file = file.path(folder, "schema.toml"), append = TRUE)
  expect_error(read_release(folder), "schema.toml.*not as it was published")
  unlink(file.path(folder, "schema.toml"))
  expect_error(read_release(folder), "schema.toml.*not as it was published")
})

test_that("estimates are data frames that say what they rest on, and refusals are sentences", {
  skip_without_parquet()
  skip_without_understudy()
  release <- read_release(example_release())
  shares <- estimate(release, "proportion", "sex")
  expect_equal(sum(shares$estimate), 1)
  expect_true(all(shares$lower < shares$estimate & shares$estimate < shares$upper))
  expect_true(attr(shares, "valid"))
  expect_output(print(shares), "Rule: ")
  fitted <- estimate_fit(release, function(set) lm(works ~ sex, set), c("works", "sex"))
  expect_identical(fitted$term, c("(Intercept)", "sexwoman"))
  expect_equal(pool(c(1, 2, 3), c(0.5, 0.5, 0.5))$estimate, 2)
  expect_error(estimate(release, "mean", "nothing"), "^There is no column")
})
