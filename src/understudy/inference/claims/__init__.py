"""Claims about the rows, and how sure a verdict by noisy votes is."""
