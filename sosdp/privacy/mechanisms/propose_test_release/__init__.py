"""Release when a certified distance to instability passes a noisy test."""
