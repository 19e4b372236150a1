"""Papers and hits to text, one module per family of formats."""
