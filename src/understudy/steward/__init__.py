"""SECRET: what drafts, checks and reviews a schema with the rows at hand."""
