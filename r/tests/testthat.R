library(testthat)
library(understudy)

test_check("understudy")
