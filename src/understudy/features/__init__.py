"""One coded column given others, as numbers: both sides of the gate use it."""
