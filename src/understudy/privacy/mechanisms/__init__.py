"""TRUSTED one by one: a release rests on those that its ledger names."""
