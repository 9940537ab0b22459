# Parquet by arrow or nanoparquet, whichever is installed, or else by Python.

.read_set <- function(place) {
  parts <- if (dir.exists(place)) {
    sort(list.files(place, "^part-[0-9]+[.]parquet$", full.names = TRUE))
  } else {
    paste0(place, ".parquet")
  }
  frames <- lapply(parts, .read_parquet)
  if (length(frames) == 1) frames[[1]] else do.call(rbind, frames)
}

.read_parquet <- function(file) {
  if (requireNamespace("arrow", quietly = TRUE)) {
    return(as.data.frame(arrow::read_parquet(file)))
  }
  if (requireNamespace("nanoparquet", quietly = TRUE)) {
    return(as.data.frame(nanoparquet::read_parquet(file)))
  }
  .read_by_python(file)
}

# Column by column, texts as codes and what these stand for.
.read_by_python <- function(file) {
  .require_python()
  arrow <- reticulate::import("pyarrow", convert = FALSE)
  parquet <- reticulate::import("pyarrow.parquet", convert = FALSE)
  table <- parquet$read_table(file)
  n_columns <- reticulate::py_to_r(table$num_columns)
  columns <- lapply(seq_len(n_columns) - 1L, function(k) .from_arrow(table$column(k), arrow))
  names(columns) <- reticulate::py_to_r(table$column_names)
  as.data.frame(columns, optional = TRUE, stringsAsFactors = FALSE)
}

.from_arrow <- function(column, arrow) {
  type <- reticulate::py_str(column$type)
  numbers <- function(one, as) {
    as.numeric(reticulate::py_to_r(one$cast(as)$to_numpy(zero_copy_only = FALSE)$tolist()))
  }
  if (type %in% c("int64", "double")) {
    found <- numbers(column, "float64")
  } else if (type == "bool") {
    found <- numbers(column$cast("int8"), "float64") == 1
  } else if (startsWith(type, "date32")) {
    found <- as.Date(numbers(column$cast("int32"), "float64"), origin = "1970-01-01")
  } else if (startsWith(type, "timestamp")) {
    found <- as.POSIXct(numbers(column$cast("int64"), "float64") / 1e6, origin = "1970-01-01", tz = "UTC")
  } else if (startsWith(type, "duration")) {
    found <- as.difftime(numbers(column$cast("int64"), "float64") / 1e6, units = "secs")
  } else {
    coded <- column$cast("string")$combine_chunks()$dictionary_encode()
    if (reticulate::py_has_attr(coded, "chunk")) coded <- coded$chunk(0L)
    texts <- unlist(reticulate::py_to_r(coded$dictionary$to_pylist()))
    return(texts[numbers(coded$indices, "float64") + 1])
  }
  found[is.nan(found)] <- NA
  found
}
