"""A package, so that one browser can serve all of its tests and no others."""
