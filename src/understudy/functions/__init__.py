"""Public functions that a mechanism evaluates at secret arguments; they know no rows and no noise.

A walk over parameters asks for simulated records, or for probabilities, wherever it stands; a
choice asks how large a model a drawn candidate would make. Whoever could put code of their own
there would see draws that nobody paid for. So `privacy` calls the functions of this room, which it
knows by name, and no others. The room sees the schema alone; models and methods use it too.
"""
