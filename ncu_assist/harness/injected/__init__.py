"""A folder for PYTHONPATH: what Python starts in every process of a traced program, and nothing else to import."""
