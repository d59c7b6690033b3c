"""Choice and comparison of models: stepwise, choose, compare, cross-validation, planning."""
