"""How good an embedding is, whether a difference is significant, and how methods compare."""
