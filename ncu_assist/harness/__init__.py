"""The child process that checks, times and profiles versions, and the parent's side of it."""
