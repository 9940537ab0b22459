"""What is published: rows, noisy measurements, schema, manifest."""
