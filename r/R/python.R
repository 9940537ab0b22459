# The Python library behind the estimates.

.require_python <- function() {
  if (!reticulate::py_available(initialize = TRUE)) {
    stop("No Python was found. Call Sys.setenv(RETICULATE_PYTHON = \"path of python\") in a new session of R.",
      call. = FALSE
    )
  }
}

.library <- function() {
  .require_python()
  if (!reticulate::py_module_available("understudy")) {
    stop(sprintf(
      "The Python '%s' has no Understudy. Install it there, or name another Python by Sys.setenv(RETICULATE_PYTHON = \"path of python\") in a new session of R.",
      reticulate::py_config()$python
    ), call. = FALSE)
  }
  reticulate::import("understudy", convert = FALSE)
}

# The release as Python has it: read and checked once, and handed on after that.
.python_release <- function(release) {
  if (is.character(release)) return(.told(.library()$Release$load(release)))
  .require_release(release)
  if (is.null(release$python$release)) {
    release$python$release <- .told(.library()$Release$load(release$path))
  }
  release$python$release
}

# What Python refuses is told in its own sentence.
.told <- function(expression) {
  tryCatch(expression, error = function(error) {
    sentence <- sub("^[A-Za-z_.]*Error: ", "", conditionMessage(error))
    stop(trimws(sub("\nRun `reticulate::py_last_error\\(\\)`.*", "", sentence)), call. = FALSE)
  })
}
