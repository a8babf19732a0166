"""From a solved relaxation to an exact proof: rounding, faces, zeros, rescaling."""
