"""The published programs, literally, for comparison; users call the estimators."""
