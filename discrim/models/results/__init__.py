"""What every fitted classifier can do."""
