"""Texts on which an exported encoder is compared with the original."""

from __future__ import annotations

from typing import Final

_MOST_TOKENS: Final = 600
"""A text of more tokens than this costs more time than it tells; models that read more are tried with so many."""

_SENTENCES: Final = (
    "learning from few labelled examples",
    "How do migratory birds find their way at night?",
    "We propose a method that predicts the structure of proteins from their sequence alone.",
    "graph neural networks",
    "In this paper, the spectrum of $H = -\\Delta + V(x)$ is studied for $V \\in L^\\infty(\\mathbb{R}^3)$.",
    "BERT, GPT-4 and T5: a COMPARISON (N=1,024; p < 0.05)",
    "der Einfluß der Temperatur auf die Leitfähigkeit dünner Schichten",
    "l'apprentissage par renforcement à grande échelle, été 2019",
    "обучение с подкреплением для управления роботами",
    "深度学习在医学图像分割中的应用",
    "自然言語処理における大規模言語モデルの評価",
    "대규모 언어 모델의 환각 현상에 관한 연구",
    "التعلم العميق لمعالجة اللغة العربية",
    "यह शोधपत्र भाषा मॉडलों का मूल्यांकन करता है",
    "emoji 🙂 in tweets 🚀🚀, and what they mean 👩‍🔬",
    "A",
)
_ODD: Final = (
    "", " ", ".", "?!", "\t\n", "0", "  two   spaces  and a\nnew line ", "ALL CAPITALS",
    "x" * 300, "naïve café, ﬁnally ½ ①",
    "http://example.org/a?b=c#d", "<b>bold</b> &amp; [MASK] </s> <pad>", "a\u0301 e\u0308 \u200b \ufeff",
    "１２３ ＡＢＣ",
    "μ ≤ 5.2 °C ± 0.1 → ∞", "C₆H₁₂O₆ and Fe³⁺",
)


def trial_texts(max_tokens: int) -> list[str]:
    """Return at least 64 texts: questions, texts shorter and longer than `max_tokens`, other scripts, odd ones."""
    pairs = [f"{one} {other}" for one, other in zip(_SENTENCES, _SENTENCES[5:] + _SENTENCES[:5], strict=True)]
    passages = [" ".join(_SENTENCES[start:start + 4]) for start in range(12)]
    english = " ".join(_SENTENCES[:6])
    words = min(max_tokens, _MOST_TOKENS)  # a word is at least a token
    long = [" ".join((english.split() * (words // 20 + 1))[start:start + words + start]) for start in (0, 7)]
    half = [" ".join((english.split() * (words // 20 + 1))[start:start + words // 2]) for start in (3, 11)]
    return [*_SENTENCES, *_ODD, *pairs, *passages, *long, *half]
