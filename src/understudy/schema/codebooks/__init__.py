"""Codebooks as public sources: what is said about a table by a file that is not the table."""

from understudy.schema.codebooks.codebook import Codebook
from understudy.schema.codebooks.codebook_reader import read_codebook

__all__ = ["Codebook", "read_codebook"]
