"""From the assembled identity to a solver's raw answer."""
