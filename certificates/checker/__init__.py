"""Parts of the checker that are not the kernel: points, words."""
