"""Metrics: what each is, what it is called on which chip, how far it strays, and what follows from them."""
