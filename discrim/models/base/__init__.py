"""The fitted model, its arguments, prediction, refitting and saving."""
