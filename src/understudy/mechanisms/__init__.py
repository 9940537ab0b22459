"""TRUSTED one by one: a release rests on those its ledger names. Each file has its proof."""
