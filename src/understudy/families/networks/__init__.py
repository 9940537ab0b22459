"""RELEASED. Networks of columns: declared, or candidates for a choice."""
