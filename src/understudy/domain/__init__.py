"""Cells, boxes of impossible cells and trees of cells: whole numbers only, no names."""
