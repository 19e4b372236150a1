"""Vectors made in parts, on as many machines as there are: folders of shards that `build` takes vectors from."""
