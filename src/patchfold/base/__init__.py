"""What every step may use and what knows none of them: arrays, threads, memory, checks of input."""
