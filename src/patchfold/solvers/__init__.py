"""Solvers: classical scaling, least stress, eigenvectors of dense and of sparse matrices."""
