# What the test of the R package asks of R: everything is printed as one line of JSON.

arguments <- commandArgs(trailingOnly = TRUE)
.libPaths(c(arguments[1], .libPaths()))
folder <- arguments[2]
suppressPackageStartupMessages({
  library(understudy)
  library(haven)
  library(survey)
})
testthat::test_dir(arguments[3], reporter = testthat::StopReporter$new())
source(arguments[4], echo = TRUE, chdir = TRUE) # the guide, beside a release like that of its readers

release <- read_release(folder)
kept <- read_release(folder, absent = "keep", labels = FALSE)
first <- release$sets[[1]]
by_python <- understudy:::.typed_frame(
  understudy:::.read_by_python(file.path(folder, "synthetic", "set-1.parquet")),
  release$fields, FALSE, TRUE
)
frame <- function(found) unclass(as.data.frame(found))

spss <- read_sav(file.path(folder, "synthetic", "set-1.sav"), user_na = TRUE)
stata <- read_dta(file.path(folder, "synthetic", "set-1.dta"))
design <- svydesign(~1, data = first[!is.na(first$`net income`), ], weights = ~1)
total <- svymean(~`net income`, design)

told <- list(
  sets = lapply(release$sets, nrow),
  factors = lapply(Filter(is.factor, first), levels),
  absent = lapply(first, function(column) sum(is.na(column))),
  kept = as.list(table(kept$sets[[1]]$sex)),
  alike = isTRUE(all.equal(by_python, first)),
  codebook = subset(codebook(release), column == "sex"),
  label = attr(first$sex, "label"),
  mean = frame(estimate(release, "mean", "age")),
  shares = frame(estimate(folder, "proportion", "sex", level = 0.9)),
  fit = frame(estimate_fit(release, function(set) lm(I(sex == "female") ~ 1, set), "sex")),
  pooled = frame(pool(matrix(c(1, 2, 3, 4, 5, 6), 3), matrix(0.5, 3, 2))),
  refused = tryCatch(estimate(release, "mean", "nothing"), error = conditionMessage),
  binned = tryCatch(
    estimate_fit(release, function(set) lm(age ~ 1, set), "age"), error = conditionMessage
  ),
  spss = list(
    labels = as.list(attr(spss$sex, "labels")), missing = attr(spss$sex, "na_values"),
    range = attr(spss$net_income, "na_range"), label = attr(spss$sex, "label"),
    texts = as.list(attr(spss$region, "labels")), days = format(range(spss$moved, na.rm = TRUE)),
    absent = sum(is.na(spss$net_income)), health = as.list(attr(spss$health, "labels"))
  ),
  stata = list(
    tags = as.list(table(na_tag(stata$net_income))), highest = max(stata$net_income, na.rm = TRUE),
    labels = names(attr(stata$sex, "labels")), days = format(range(stata$moved, na.rm = TRUE))
  ),
  survey = c(coef(total), SE(total))
)
cat("\n", jsonlite::toJSON(told, digits = NA, na = "string"), "\n", sep = "")
