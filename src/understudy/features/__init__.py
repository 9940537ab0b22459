"""Functions of a record whose sums are measured: contrasts, ranks, number lines, designs."""
