"""INTERNAL: comparisons with the rows, R-U maps, and audits of what releases cost."""
