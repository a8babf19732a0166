"""Private learning of Markov random fields."""
