"""From replicates of a release to intervals."""
