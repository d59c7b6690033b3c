"""From rows to scores, and the scores of rows left out."""
