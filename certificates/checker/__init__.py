"""Parts of the checker that are not the kernel: reading, matrices, points, words."""
