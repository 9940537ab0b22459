"""The journal of a run, and how a run that stopped is gone on with."""
