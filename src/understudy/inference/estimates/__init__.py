"""What is asked, computed on one set."""
