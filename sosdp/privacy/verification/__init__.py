"""Bounding from above (sensitivity) and attacking from below (audits) what a mechanism claims."""
