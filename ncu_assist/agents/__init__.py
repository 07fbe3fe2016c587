"""For agents: every step of the loop as a tool of the Model Context Protocol, and the skill that teaches it."""
