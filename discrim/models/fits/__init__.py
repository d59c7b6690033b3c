"""What every fit is made of, from arguments to predictions."""
