"""The graph of patches: lengths, labels, components, geodesics."""
