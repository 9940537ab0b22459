# Estimates with error bars that count noise and synthesis, worked out by the Python library.

estimate <- function(release, kind, formula = "", ..., level = 0.95) {
  .estimated(.python_release(release), kind, formula, level, ...)
}

# The same for a model that R fits to each set: coefficients and their covariance are pooled by the
# rule that holds for how the sets were made, or refused where none does.
estimate_fit <- function(release, fit, columns, ..., level = 0.95) {
  .require_release(release)
  by_fit <- function(frame) {
    fitted <- fit(.as_in_sets(frame, release$fields))
    reticulate::tuple(as.list(stats::coef(fitted)), .plain(stats::vcov(fitted)))
  }
  crossed <- paste(columns, collapse = " + ")
  .estimated(.python_release(release), by_fit, crossed, level, ...)
}

pool <- function(estimates, variances, rule = "partial", ..., level = 0.95) {
  told <- list(.plain(estimates), .plain(variances), rule = rule, ...)
  pooled <- .told(do.call(.library()$pool, told))
  .frame(pooled$to_frame(level), reason = rule, notes = reticulate::py_to_r(pooled$notes))
}

print.understudy_estimate <- function(x, ...) {
  cat(attr(x, "question"), if (attr(x, "valid")) "" else " NOT VALID", "\n", sep = "")
  print(as.data.frame(unclass(x)), ...)
  notes <- c(paste0("Rule: ", attr(x, "reason"), "."), attr(x, "notes"))
  cat(strwrap(notes), sep = "\n")
  invisible(x)
}

.estimated <- function(release, kind, formula, level, ...) {
  found <- .told(.library()$analyze(release, kind, formula, level = level, ...))
  said <- function(name) reticulate::py_to_r(found[[name]])
  .frame(
    found$to_frame(), said("valid"), said("reason"), said("notes"),
    said("quantity")
  )
}

.frame <- function(table, valid = TRUE, reason = "", notes = NULL, question = "Pooled estimates") {
  columns <- reticulate::py_to_r(table$reset_index()$to_dict("list"))
  structure(
    as.data.frame(lapply(columns, unlist), stringsAsFactors = FALSE),
    class = c("understudy_estimate", "data.frame"),
    question = question,
    valid = valid,
    reason = reason,
    notes = unlist(notes)
  )
}

# Vectors, matrices and arrays as lists of lists, which Python takes whatever its version of NumPy.
.plain <- function(values) {
  if (length(dim(values)) < 2) return(as.list(as.numeric(values)))
  unname(lapply(asplit(values, 1), function(one) .plain(array(one, dim(values)[-1]))))
}

# Complete records of one set as Python hands them on, in the types of `read_release`.
.as_in_sets <- function(frame, fields) {
  columns <- if (is.data.frame(frame)) frame else reticulate::py_to_r(frame$to_dict("list"))
  used <- Filter(function(field) field$name %in% names(columns), fields)
  .typed_frame(lapply(as.list(columns), unlist), used, keep = FALSE, labels = TRUE)
}
