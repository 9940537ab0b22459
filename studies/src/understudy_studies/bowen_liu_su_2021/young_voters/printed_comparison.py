"""What the paper prints of its comparison on the youth-voter file.

Numbers of table 3, without its ranks, which follow from the numbers
(`rank_sums`). Some of the printed ranks do not, and with them five sums, which
are listed below. The paper's rows are real ones that cannot be had; ours are simulated.

Source: Bowen, Liu & Su (2021), table 3.
"""

from __future__ import annotations

from typing import Final

LAPLACE, PRIVBAYES = "flat Laplace", "PrivBayes"
UH2, UH3, STEPS2, STEPS3 = "UH-2", "UH-3", "STEPS-2", "STEPS-3"
PAPERS: Final = (LAPLACE, PRIVBAYES, UH2, UH3, STEPS2, STEPS3)
"""The six methods of the paper."""

LOG_EPSILONS = (-2, -1, 0, 1, 2)

PRINTED: dict[int, dict[str, tuple[float, ...]]] = {
    -2: {
        LAPLACE: (0.981, 0.190, 0.210, 0.210, 0.092, 0.872, 0.637, 0.872),
        PRIVBAYES: (0.462, 0.152, 0.143, 0.105, 0.043, 0.681, 0.000, 0.681),
        UH2: (0.973, 0.162, 0.152, 0.114, 0.099, 0.865, 0.602, 0.865),
        UH3: (0.957, 0.162, 0.152, 0.114, 0.093, 0.848, 0.495, 0.848),
        STEPS2: (0.975, 0.162, 0.152, 0.114, 0.090, 0.874, 0.661, 0.874),
        STEPS3: (0.956, 0.162, 0.152, 0.114, 0.090, 0.873, 0.659, 0.873),
    },
    -1: {
        LAPLACE: (0.978, 0.181, 0.210, 0.210, 0.102, 0.871, 0.638, 0.871),
        PRIVBAYES: (0.422, 0.152, 0.143, 0.105, 0.050, 0.681, 0.000, 0.681),
        UH2: (0.971, 0.162, 0.152, 0.114, 0.098, 0.865, 0.602, 0.865),
        UH3: (0.954, 0.162, 0.152, 0.114, 0.092, 0.839, 0.445, 0.839),
        STEPS2: (0.971, 0.162, 0.171, 0.133, 0.090, 0.874, 0.667, 0.874),
        STEPS3: (0.954, 0.162, 0.171, 0.133, 0.091, 0.874, 0.666, 0.874),
    },
    0: {
        LAPLACE: (0.968, 0.190, 0.210, 0.210, 0.108, 0.871, 0.641, 0.871),
        PRIVBAYES: (0.272, 0.152, 0.143, 0.114, 0.076, 0.943, 0.000, 0.962),
        UH2: (0.964, 0.162, 0.152, 0.114, 0.106, 0.864, 0.605, 0.864),
        UH3: (0.945, 0.162, 0.152, 0.114, 0.090, 0.838, 0.446, 0.838),
        STEPS2: (0.965, 0.181, 0.171, 0.133, 0.090, 0.873, 0.671, 0.873),
        STEPS3: (0.945, 0.181, 0.171, 0.133, 0.090, 0.873, 0.671, 0.873),
    },
    1: {
        LAPLACE: (0.930, 0.276, 0.371, 0.448, 0.092, 0.867, 0.651, 0.867),
        PRIVBAYES: (0.187, 0.171, 0.171, 0.133, 0.102, 0.978, 0.847, 0.990),
        UH2: (0.944, 0.162, 0.200, 0.219, 0.125, 0.863, 0.612, 0.863),
        UH3: (0.919, 0.162, 0.181, 0.219, 0.096, 0.837, 0.453, 0.837),
        STEPS2: (0.944, 0.200, 0.257, 0.238, 0.091, 0.871, 0.677, 0.871),
        STEPS3: (0.919, 0.200, 0.248, 0.238, 0.084, 0.871, 0.676, 0.871),
    },
    2: {
        LAPLACE: (0.833, 0.467, 0.552, 0.629, 0.104, 0.862, 0.684, 0.862),
        PRIVBAYES: (0.157, 0.190, 0.181, 0.143, 0.099, 0.988, 0.983, 0.971),
        UH2: (0.885, 0.352, 0.400, 0.410, 0.100, 0.860, 0.635, 0.860),
        UH3: (0.843, 0.305, 0.390, 0.457, 0.076, 0.849, 0.553, 0.849),
        STEPS2: (0.886, 0.400, 0.448, 0.486, 0.093, 0.865, 0.696, 0.865),
        STEPS3: (0.843, 0.400, 0.448, 0.486, 0.076, 0.865, 0.695, 0.865),
    },
}
"""log ε → method → SPECKS; shares of agreeing χ² decisions at 1, 5, 10 %; overlaps of all
coefficients, of preregistration, registration and their product."""

SUMS: dict[int, tuple[int, ...]] = {
    -2: (22, 43, 22, 26, 18, 18),
    -1: (19, 43, 28, 30, 18, 16),
    0: (21, 31, 32, 34, 19, 16),
    1: (23, 22, 34, 37, 22, 21),
    2: (18, 26, 36, 40, 22, 21),
}
"""log ε → printed sum of ranks of each of the six methods."""

MISPRINTED = {
    (-2, LAPLACE): 21,
    (-2, UH2): 23,
    (1, STEPS3): 22,
    (2, PRIVBAYES): 25,
    (2, UH2): 35,
}
"""(log ε, method) → the sum of ranks that follows from the printed numbers, where the printed one
does not. At e⁻² two ranks for preregistration are the wrong way round; at e STEPS-3 shares a rank
with STEPS-2 although it is behind; at e² and 10 % PrivBayes has the rank 7 of 6 methods, and UH-2
the rank 6 although PrivBayes is behind it."""

SAME_CLASS: dict[str, tuple[int, ...]] = {
    LAPLACE: (15, 14, 15, 27, 45),
    PRIVBAYES: (11, 11, 11, 13, 15),
    UH2: (12, 12, 12, 10, 29),
    UH3: (12, 12, 12, 10, 25),
    STEPS2: (12, 12, 14, 13, 36),
    STEPS3: (12, 12, 14, 14, 36),
}
"""Method → pairs, of 105, in the same class of p-values at each of `LOG_EPSILONS` (tables 4-9)."""

CELL_SIZES: Final = ("0", "1", "2", "3", "4", "5", "more than 5")
CELL_COUNTS: Final = (1_268_911, 14_061, 3_545, 1_508, 740, 425, 1_050)
"""Cells of the full table by how many records they hold (table 2)."""

SPREADS: Final = {
    "voted": "yes 34.7, no 63.3",
    "preregistration": "yes 10.5, no 89.5",
    "age": "20.5, 19.7, 20.0, 20.0, 19.8",
    "married": "yes 7.5, no 92.5",
    "female": "yes 50.7, no 40.3",
    "income": "least 3.1, median 5.9, most 26.5",
    "college": "yes 3.1, no 96.9",
    "white": "yes 69.3, no 31.7",
    "hispanic": "yes 14.6, no 85.4",
    "registered": "yes 52.4, yes 47.8",
    "metropolitan": "yes 77.9, no 22.1",
    "residence": "2.7, 20.0, 6.9, 15.0, 9.8, 45.6",
    "business": "yes 12.6, no 12.62",
    "in_person": "yes 36.7, no 63.3",
    "dmv": "yes 12.7, no 87.3",
}
"""Shares of table 1 in per cent, misprints included, by the names of our columns."""
