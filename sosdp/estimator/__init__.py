"""One contract for every private estimator: fitting, releasing, records, unfitted attributes."""
