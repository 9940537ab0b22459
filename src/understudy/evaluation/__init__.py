"""INTERNAL: utility and risk against the real rows; nothing here is ever released."""
