"""From a table to a release and back: the only room that names an engine and a method together."""
