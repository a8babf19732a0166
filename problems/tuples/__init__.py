"""Private clustering of easy instances through k-tuples of centres."""
