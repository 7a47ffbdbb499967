"""What a fitted graph or embedding knows of its points: suspicious edges, trust, stability."""
