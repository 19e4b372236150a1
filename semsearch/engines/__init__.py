"""Who runs the shards of an encoding where it is not this process."""
