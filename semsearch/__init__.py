"""Find papers by meaning."""
