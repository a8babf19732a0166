"""Random instances against exact enumeration."""
