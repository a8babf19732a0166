"""Recorded answers of the engine, and the rule by which a new answer is worse than an old one."""
