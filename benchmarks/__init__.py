"""Side-by-side runs against peers: ratios of time, peak memory, quality."""
