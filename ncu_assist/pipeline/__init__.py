"""The order of the stages, from a command to stored runs; progress goes to a Reporter that is passed in."""
