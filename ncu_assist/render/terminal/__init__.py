"""Results as text for a terminal: readable at 80 columns, coloured only where the terminal shows colours."""
