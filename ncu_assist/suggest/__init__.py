"""Draft the next version of a kernel with a language model, and prove it by measuring."""
