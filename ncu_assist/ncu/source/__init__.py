"""What each source line and each instruction cost, through NVIDIA's reader in a child process."""
