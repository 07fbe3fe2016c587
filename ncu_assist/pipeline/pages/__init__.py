"""What each page shows, gathered from stored runs; nothing is measured for it."""
