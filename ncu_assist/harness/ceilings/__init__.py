"""The child process that measures what a GPU can reach: our own CUDA kernels, timed by events or counted by ncu."""
