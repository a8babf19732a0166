"""What is proven of a solver's answer: bounds, rays, faces and the final status."""
