"""What leaves without a finite ε: a release that asks for it is stamped."""
