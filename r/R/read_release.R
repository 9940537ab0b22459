# Releases as R sees them: data frames, with labels, and with NA for missing values.

read_release <- function(path, absent = c("NA", "keep"), labels = TRUE) {
  absent <- match.arg(absent)
  path <- normalizePath(path, mustWork = FALSE)
  manifest <- .read_json(file.path(path, "manifest.json"), path)
  package <- .read_json(file.path(path, "datapackage.json"), path)
  .require_checksums(path, manifest$files)
  fields <- .read_json(file.path(path, "tableschema.json"), path)$fields
  sets <- lapply(seq_len(manifest$sets), function(k) {
    frame <- .read_set(file.path(path, "synthetic", paste0("set-", k)))
    .typed_frame(frame, fields, absent == "keep", labels)
  })
  structure(
    list(
      path = path,
      title = package$title,
      guarantee = manifest$guarantee$statement,
      citation = package$citation,
      sets = sets,
      fields = fields,
      python = new.env(parent = emptyenv())
    ),
    class = "understudy_release"
  )
}

print.understudy_release <- function(x, ...) {
  rows <- if (length(x$sets)) nrow(x$sets[[1]]) else 0
  cat(x$title, "\n", sep = "")
  cat(length(x$sets), " synthetic ", if (length(x$sets) == 1) "set" else "sets", " of ",
    format(rows, big.mark = ","), " rows and ", length(x$fields), " columns\n",
    sep = ""
  )
  cat(strwrap(x$guarantee), sep = "\n")
  invisible(x)
}

# One row for each value that has a label or says that something is absent, and for each column.
codebook <- function(release) {
  .require_release(release)
  rows <- lapply(release$fields, function(field) {
    values <- c(field$categories, field$missingValues)
    if (!length(values)) values <- list(list(value = NA))
    data.frame(
      column = field$name,
      kind = field$kind,
      description = .or(field$description, ""),
      value = vapply(values, function(one) .text(one$value), ""),
      label = vapply(values, function(one) .or(one$label, ""), ""),
      absence = vapply(values, function(one) .or(one$absence, ""), "")
    )
  })
  do.call(rbind, rows)
}

# The folder of the release that comes with this package.
example_release <- function() {
  system.file("extdata", "example", package = "understudy", mustWork = TRUE)
}

.require_release <- function(release) {
  if (!inherits(release, "understudy_release")) {
    stop("`release` must be a release, as read_release(\"folder\") gives it.", call. = FALSE)
  }
}

.read_json <- function(file, path) {
  if (!file.exists(file)) {
    stop(sprintf(
      "'%s' has no file %s, so R cannot read it as a release. If it was made by an earlier version, load it in Python and save it again.",
      path, basename(file)
    ), call. = FALSE)
  }
  jsonlite::fromJSON(file, simplifyVector = FALSE)
}

# Every file as it was published.
.require_checksums <- function(path, files) {
  for (name in names(files)) {
    file <- file.path(path, name)
    if (!file.exists(file) || files[[name]] != .checksum(file)) {
      stop(sprintf(
        "The file '%s' of the release '%s' is not as it was published; ask its publisher for a new copy.",
        name, path
      ), call. = FALSE)
    }
  }
}

.checksum <- function(file) paste0("sha256:", digest::digest(file, algo = "sha256", file = TRUE))

.or <- function(value, other) if (is.null(value)) other else value
