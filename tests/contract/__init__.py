"""What every verb promises, asked of every verb."""
