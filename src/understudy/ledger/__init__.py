"""Several releases of the same people: what they have cost together, and what is left.

A guarantee that forgets is none: ε adds up over releases. A population ledger keeps count of them,
append-only and durable, and refuses what its caps do not allow. It is not the ledger of one run
(`understudy.dp.accountant`), whose steps it never sees: it is told what they cost.
"""
