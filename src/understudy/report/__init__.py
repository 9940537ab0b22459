"""Pages for people: what a release is, how far it can be relied on, and what it promises."""
