"""For the steward before a release: a schema drafted and checked. No mechanism uses it."""
