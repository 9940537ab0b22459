"""Disclosure risk: attacks on a release, each with an interval, a control and a naive guess.

Each file holds one attack, as functions over arrays of coded states that studies call too. All of
it compares with the rows, so all of it is INTERNAL and outside ε.
"""
