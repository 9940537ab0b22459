"""Pages that compare with the rows: stamped not for release."""
