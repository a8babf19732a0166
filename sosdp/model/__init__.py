"""What a user states: systems, expectations, problem files and the names of options."""
