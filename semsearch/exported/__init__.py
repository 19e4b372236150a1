"""Encoders in a form that starts in milliseconds: exported once, run by onnxruntime, kept in the user's cache.

`store`: what lies in the cache; `session`: runs it, without torch; `export`: makes it from a loaded encoder;
`readiness`: whether it is there.
"""
