# Columns of a set in the types of R: factors for levels, numbers, dates and truth values, with NA
# for missing-value codes, or with these kept.

.typed_frame <- function(frame, fields, keep, labels) {
  typed <- lapply(fields, function(field) {
    values <- .typed(frame[[field$name]], field, keep, labels)
    if (!is.null(field$description)) attr(values, "label") <- field$description
    values
  })
  names(typed) <- vapply(fields, function(field) field$name, "")
  as.data.frame(typed, optional = TRUE, stringsAsFactors = FALSE)
}

.typed <- function(values, field, keep, labels) {
  if (is.factor(values)) values <- as.character(values)
  if (inherits(values, "integer64")) values <- as.numeric(values)
  if (field$kind %in% c("categorical", "ordinal")) {
    return(.levels(values, c(field$categories, if (keep) field$missingValues), field, labels))
  }
  codes <- vapply(field$missingValues, function(one) .text(one$value), "")
  if (keep && length(setdiff(codes, ""))) {
    truth <- list(list(value = FALSE), list(value = TRUE))
    if (field$kind == "boolean") return(.levels(values, c(truth, field$missingValues), field, labels))
    return(values)
  }
  values[.is_one_of(values, codes)] <- NA
  switch(field$kind,
    integer = ,
    continuous = as.numeric(values),
    date = as.Date(values, origin = "1970-01-01"),
    datetime = if (is.character(values)) {
      as.POSIXct(values, format = "%Y-%m-%dT%H:%M:%S", tz = "UTC")
    } else {
      values
    },
    boolean = if (is.logical(values)) values else tolower(values) == "true",
    values
  )
}

# A factor whose levels stand in the order of the schema.
.levels <- function(values, categories, field, labels) {
  texts <- vapply(categories, function(one) .text(one$value), "")
  categories <- categories[texts != ""]
  texts <- texts[texts != ""]
  words <- vapply(categories, function(one) .or(one$label, ""), "")
  words[words == "" | !labels] <- texts[words == "" | !labels]
  shared <- duplicated(words) | duplicated(words, fromLast = TRUE)
  words[shared & words != texts] <- paste0(words, " (", texts, ")")[shared & words != texts]
  factor(.place(values, texts), seq_along(texts), words, ordered = field$kind == "ordinal")
}

# Which of some texts each value is; numbers are compared as numbers.
.place <- function(values, texts) {
  if (is.numeric(values)) return(match(values, suppressWarnings(as.numeric(texts))))
  if (is.logical(values)) values <- ifelse(values, "true", "false")
  match(values, texts)
}

.is_one_of <- function(values, texts) !is.na(.place(values, setdiff(texts, "")))

# A value of the codebook as Understudy writes it.
.text <- function(value) {
  if (is.null(value) || (length(value) == 1 && is.na(value))) return("")
  if (is.logical(value)) return(if (value) "true" else "false")
  if (is.numeric(value)) return(format(value, digits = 15, scientific = FALSE, trim = TRUE))
  as.character(value)
}
