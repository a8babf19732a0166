"""Cases of ten peers' own test suites, stated through the public interface."""
