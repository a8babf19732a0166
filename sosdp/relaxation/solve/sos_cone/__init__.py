"""An interior-point method for sums of squares, solved where they live: at points instead of coefficients."""
