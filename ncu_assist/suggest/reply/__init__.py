"""What a model answers, read and held to the rules: it is only ever a file and what is claimed of that file."""
