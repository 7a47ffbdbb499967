"""What a fitted graph knows of its points: suspicious edges, strangers, trust, stability."""
