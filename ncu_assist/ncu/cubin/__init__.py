"""What a cubin says of its code: the line of each instruction, and the calls that it was inlined through."""
