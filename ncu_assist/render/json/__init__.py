"""Results as plain dicts for JSON: numbers are numbers, what is absent is null, each names its schema."""
