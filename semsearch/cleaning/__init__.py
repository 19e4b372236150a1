"""Text as people wrote it, made fit to embed, to search and to show: LaTeX, HTML, JATS, MathML, broken lines.

Every function is pure, takes any `str`, never raises and needs time linear in the length of the text. The raw text is
the caller's to keep.
"""

from semsearch.cleaning.abstracts import Markup, clean_abstract, clean_title
from semsearch.cleaning.latex import latex_to_text
from semsearch.cleaning.markup import markup_to_text
from semsearch.cleaning.tidying import tidy

__all__ = ["Markup", "clean_abstract", "clean_title", "latex_to_text", "markup_to_text", "tidy"]
