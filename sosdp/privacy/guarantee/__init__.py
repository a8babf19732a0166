"""What a release promises: adjacency, guarantee, loss, composition, budget."""
