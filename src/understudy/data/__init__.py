"""SECRET: the rows, and exact statistics of them."""
