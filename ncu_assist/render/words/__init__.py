"""How things are worded: each sentence and each value once, for terminal, pages and Markdown alike."""
