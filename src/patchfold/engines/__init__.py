"""Where the work runs: threads, memory, compiled code, eigenvectors."""
