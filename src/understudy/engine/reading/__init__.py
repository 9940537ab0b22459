"""SECRET. Where rows come from, and what one cell says: each by itself."""
