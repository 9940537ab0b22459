field <- function(kind, ...) list(name = "x", kind = kind, ...)
refused <- list(list(value = "9", label = "refused", absence = "missing"))

test_that("levels become a factor in the order of the schema, by their labels", {
  sex <- field("categorical",
    categories = list(list(value = 2, label = "female"), list(value = 1, label = "male")),
    missingValues = refused
  )
  found <- understudy:::.typed(c(1, 2, 9, NA), sex, FALSE, TRUE)
  expect_identical(levels(found), c("female", "male"))
  expect_identical(as.character(found), c("male", "female", NA, NA))
  kept <- understudy:::.typed(c(1, 2, 9, NA), sex, TRUE, FALSE)
  expect_identical(as.character(kept), c("1", "2", "9", NA))
  expect_identical(levels(kept), c("2", "1", "9"))
})

test_that("labels that two levels share stand with their codes", {
  city <- field("ordinal", categories = list(
    list(value = "a", label = "Oak"), list(value = "b", label = "Oak"), list(value = "c")
  ))
  found <- understudy:::.typed(c("b", "c"), city, FALSE, TRUE)
  expect_identical(levels(found), c("Oak (a)", "Oak (b)", "c"))
  expect_true(is.ordered(found))
})

test_that("missing-value codes among numbers, days and truth values become NA, or stay", {
  age <- field("integer", missingValues = refused)
  expect_identical(understudy:::.typed(c(5, 9), age, FALSE, TRUE), c(5, NA))
  expect_identical(understudy:::.typed(c(5, 9), age, TRUE, TRUE), c(5, 9))
  expect_identical(understudy:::.typed(c("5", "9"), age, FALSE, TRUE), c(5, NA))
  day <- field("date", missingValues = refused)
  expect_identical(understudy:::.typed(c("2020-01-31", "9"), day, FALSE, TRUE),
    as.Date(c("2020-01-31", NA)))
  truth <- field("boolean", missingValues = refused)
  expect_identical(understudy:::.typed(c("true", "9"), truth, FALSE, TRUE), c(TRUE, NA))
  expect_identical(as.character(understudy:::.typed(c("true", "9"), truth, TRUE, TRUE)),
    c("true", "refused"))
})

test_that("what is no release is told in a sentence", {
  expect_error(read_release(tempfile()), "cannot read it as a release")
  expect_error(codebook(1), "read_release")
})
