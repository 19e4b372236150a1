"""LaTeX to text: exact values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semsearch.cleaning import latex_to_text

CASES = [
    # accents, in every spelling
    (r"G{\"o}del", "Gödel"),
    (r"G\"{o}del", "Gödel"),
    (r"G\"odel", "Gödel"),
    (r"{G\"{o}del}", "Gödel"),
    (r"S{\~{a}}o", "São"),
    (r"caf\'e", "café"),
    (r"Ren\'{e}", "René"),
    (r"na{\"\i}ve", "naïve"),
    (r"na\"{\i}ve", "naïve"),
    (r"\v{C}ech", "Čech"),
    (r"\v Cech", "Čech"),
    (r"Fran\c{c}ois", "François"),
    (r"Fran{\c c}ois", "François"),
    (r"Erd\H{o}s", "Erdős"),
    (r"\k{a}", "ą"),
    (r"\AA ngstr\"om", "Ångström"),
    (r"{\o}re", "øre"),
    (r"\O{}re", "Øre"),
    (r"Stra{\ss}e", "Straße"),
    (r"\L{}ukasiewicz", "Łukasiewicz"),
    (r"P\'olya", "Pólya"),
    (r"\`a la", "à la"),
    (r"r\^ole", "rôle"),
    (r"\u{g}", "ğ"),
    (r"\.{z}", "ż"),
    (r"\={a}", "ā"),
    (r"\r{u}", "ů"),
    (r"\d{s}", "ṣ"),
    (r"\'{\i}", "í"),
    (r"\'\i", "í"),
    (r"{\ae}on", "æon"),
    (r"\"{U}ber", "Über"),
    (r"model\'s", "model's"),
    # formulas
    (r"$\alpha$", "α"),
    (r"$x^2$", "x²"),
    (r"$10^{-5}$", "10⁻⁵"),
    (r"$x_i$", "x_i"),
    (r"$x_{ij}$", "x_ij"),
    (r"CO$_2$", "CO2"),
    (r"$\ell_2$", "ℓ2"),
    (r"$\mathcal{N}(0, I)$", "N(0, I)"),
    (r"$\mathbb{R}^n$", "ℝⁿ"),
    (r"$\mathbb{E}[X]$", "E[X]"),
    (r"\(a+b\)", "a+b"),
    (r"\[a+b\]", "a+b"),
    (r"$$a+b$$", "a+b"),
    (r"$\frac{a}{b}$", "a/b"),
    (r"$\frac12$", "1/2"),
    (r"$\frac{a+b}{2n}$", "(a+b)/(2n)"),
    (r"$\tfrac{1}{n}$", "1/n"),
    (r"$\sqrt{T}$", "√T"),
    (r"$\sqrt{n\log n}$", "√(n log n)"),
    (r"$\sqrt[3]{x}$", "∛x"),
    (r"$\sqrt\frac12$", "√(1/2)"),
    (r"$O(n\log n)$", "O(n log n)"),
    (r"$\tilde{O}(n)$", "Õ(n)"),
    (r"$\hat\theta$", "θ\u0302"),
    (r"$a\leq b$", "a≤b"),
    (r"$a \leq b$", "a ≤ b"),
    (r"$3\times 3$", "3×3"),
    (r"$p \not= q$", "p ≠ q"),
    (r"$x \in \{0,1\}$", "x ∈ {0,1}"),
    (r"$\Delta x$", "Δx"),
    (r"$2^k$", "2^k"),
    (r"$2^{k+m}$", "2^(k+m)"),
    (r"$A^\top B$", "A^⊤B"),
    (r"$90^\circ$", "90°"),
    (r"$\|x\|_2$", "‖x‖2"),
    (r"$f'$", "f′"),
    (r"$\left(a\right)$", "(a)"),
    (r"$k$-means", "k-means"),
    (r"$a_1$$b_2$ faster", "a1b2 faster"),
    (r"$\alpha > 0$", "α > 0"),
    (r"$\alpha \leq 1$", "α ≤ 1"),
    (r"$\text{if } a$", "if  a"),
    (r"$\binom{n}{k}$", "(n choose k)"),
    (r"$\epsilon$-DP", "ε-DP"),
    (r"$f:\mathbb{R}\to\mathbb{R}$", "f:ℝ→ℝ"),
    (r"$X:\mathcal{A}$", "X:A"),
    (r"\begin{equation}a_2\end{equation}", " a2 "),
    # commands
    (r"\emph{new} \textbf{b} \textit{i} \texttt{t}", "new b i t"),
    (r"{\em new} idea", "new idea"),
    (r"\url{https://a.b/c_d~e}", "https://a.b/c_d~e"),
    (r"\url{https://a.b/c\_d}", "https://a.b/c_d"),
    (r"\href{https://a.b}{here}", "here"),
    (r"as shown \cite{a,b}.", "as shown."),
    (r"by \citep[p. 3]{a} we", "by we"),
    (r"code\footnote{At x.org}.", "code (At x.org)."),
    (r"\textcolor{red}{x}", "x"),
    (r"\ours{} is", "ours is"),
    (r"\ours is", "ours is"),
    (r"\foo{bar}", "bar"),
    (r"\verb|a_b|", "a_b"),
    (r"\textsc{Bert}", "Bert"),
    (r"10$^{\text{th}}$", "10th"),
    (r"CO\textsubscript{2}", "CO2"),
    # characters
    (r"5\% \& \_ \# \$ \{\}", "5% & _ # $ {}"),
    ("Fig.~1", "Fig. 1"),
    ("about ~50%", "about ~50%"),
    ("$a$ 2--3", "a 2–3"),
    ("{a}---b", "a—b"),
    ("{} --help", " --help"),
    ("``q''", "“q”"),
    (r"a \ldots b", "a … b"),
    (r"a\\b", "a b"),
    ("{DNA} of {E. coli}", "DNA of E. coli"),
    ("{{Deep {L}earning}}", "Deep Learning"),
    ("in {0, 1}", "in {0, 1}"),
    ("{\\textbackslash}alpha", "α"),
    ("$\\backslash$textless", "<"),
    # what only looks like LaTeX
    ("costs $5 and $6", "costs $5 and $6"),
    ("US$ 5 or US$ 7", "US$ 5 or US$ 7"),
    ("$5-$6 {a}", "$5-$6 a"),
    ("under $999.", "under $999."),
    (r"{50% of}", "50% of"),
    (r"at C:\Users\new\table now", r"at C:\Users\new\table now"),
    (r"the pattern \d+", r"the pattern \d+"),
    ("x_1 and x^2 in {a}", "x_1 and x^2 in a"),
    ("snake_case {a}", "snake_case a"),
    ("see https://a.b/~c--d_e {a}", "see https://a.b/~c--d_e a"),
    # broken
    ("{a", "a"),
    ("a}", "a"),
    ("$a", "$a"),
    (r"\frac{a", "a/"),
    ("\\", "\\"),
    (r"\(a", "(a"),
    (r"\cite", ""),
    ("{", ""),
]


@pytest.mark.parametrize(("latex", "text"), CASES)
def test_text_of_latex(latex: str, text: str) -> None:
    assert latex_to_text(latex) == text


@pytest.mark.parametrize(
    "text", ["", "Plain text.", '100% sure, a_b and x^2 -- it\'s "so" & so #1', "Straße \u2013 naïve"]
)
def test_text_without_latex_comes_back_itself(text: str) -> None:
    assert latex_to_text(text) is text


@given(
    st.lists(st.sampled_from([*"{}$\\^_~`'\"[]ab 1,.-%&\n", "\\frac", "\\emph{", "\\'", "\\begin{", "\\("])).map(
        "".join
    )
)
def test_never_raises(text: str) -> None:
    latex_to_text(text)


@given(st.text())
def test_never_raises_on_any_text(text: str) -> None:
    latex_to_text("{" + text)


@pytest.mark.parametrize(
    "text",
    [
        "{" * 100_000 + "a" + "}" * 100_000,
        "$" * 1_000_000,
        "\\frac" * 50_000,
        "\\frac{" * 50_000,
        "\\url{" * 50_000,
        "{a" * 100_000,
        "\\(" * 100_000,
        "\\cite" * 50_000,
        "$x^" * 100_000,
        "\\sqrt[" * 50_000,
        "\\begin{" * 50_000,
    ],
)
def test_hostile_text_ends(text: str) -> None:
    assert isinstance(latex_to_text(text), str)


def test_the_innermost_text_of_deep_braces_survives() -> None:
    assert latex_to_text("{" * 100_000 + r"\"o" + "}" * 100_000) == "ö"
