"""Files on disk to a stream of papers: one module per family of formats."""

from semsearch.readers.base import Format, Located, Reading, ReadItem, Rejected
from semsearch.readers.formats import FORMATS, find_format
from semsearch.readers.source_reader import SourceReader
from semsearch.readers.sources import SourceFile, expand_sources, read_file_sha256

__all__ = ["FORMATS", "Format", "Located", "ReadItem", "Reading", "Rejected", "SourceFile", "SourceReader",
           "expand_sources", "find_format", "read_file_sha256"]
