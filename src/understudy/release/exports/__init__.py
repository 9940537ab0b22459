"""A release in the formats that others read, from what is public alone.

* Rows: `.csv`, `.sav` and `.dta`, asked for by name (`row_exports`). What SPSS and Stata write as
  numbers, and which of these say that a value is absent, is worked out in `numbered_values`.
* What the columns are (`variable_facts`): a DDI codebook, a data package of Frictionless Data, and
  Croissant, which every release has (`metadata_files`).
"""
