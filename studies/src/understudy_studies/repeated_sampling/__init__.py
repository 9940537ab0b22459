"""Samples from a known population, released again and again: how often is an interval right?"""
