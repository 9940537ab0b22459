"""From a release to answers with valid error bars."""
