"""Proofs: a kernel shows, step by step, why it is positive definite."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mercer.kernels._kernel import Kernel

RULES = {
    1: "x'z is a kernel",
    2: "c k is a kernel for c >= 0",
    3: "k1 + k2 is a kernel",
    4: "g(k) is a kernel for a polynomial g with coefficients >= 0",
    5: "k1 k2 is a kernel",
    6: "f(x) k(x, z) f(z) is a kernel for any real function f",
    7: "exp(k) is a kernel",
    8: "x'Az is a kernel for A symmetric positive semi-definite",
}


@dataclass(frozen=True)
class Formula:
    """A kernel's value written as plain text and as LaTeX; ``loose`` when a product needs brackets around it."""

    text: str
    latex: str
    loose: bool = False

    def tight(self) -> Formula:
        """Return the formula safe to stand in a product."""
        return Formula(f"({self.text})", rf"\left({self.latex}\right)") if self.loose else self


@dataclass(frozen=True)
class Line:
    """One step of a proof: what is claimed, and by what."""

    claim: Formula
    reason: str
    uses: tuple[int, ...] = ()
    rule: int | None = None
    proven: bool = True

    def text(self, number: int) -> str:
        """Return the step as a line of text."""
        return f"{number}. {self.claim.text}  [{self._because('rule ')}]"

    def latex(self, number: int) -> str:
        """Return the step as a row of an ``align*`` block."""
        return rf"({number})\quad & {self.claim.latex} && \text{{{_in_latex(self._because('rule '))}}}"

    def _because(self, word: str) -> str:
        named = f"{word}{self.rule}: {self.reason}" if self.rule else self.reason
        return f"{named}, from {' and '.join(str(u) for u in self.uses)}" if self.uses else named


def _in_latex(reason: str) -> str:
    """Set the words that hold ^ or _, which LaTeX allows in formulas only, as formulas."""
    return " ".join(_formula(word) if "^" in word or "_" in word else word for word in reason.split(" "))


def _formula(word: str) -> str:
    inner = word.rstrip(",;:.")
    named = re.sub(r"\b(exp|sum|cos|sin)(?=[(_])", r"\\\1", inner)
    return f"${named}${word[len(inner) :]}"


@dataclass(frozen=True)
class Derivation:
    """The proof that a kernel is positive definite; it prints as numbered steps, the last one the kernel itself.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> print((2 * Linear() + 1).derivation())
    1. x'z  [rule 1: x'z is a kernel]
    2. 2 x'z  [rule 2: c k is a kernel for c >= 0, from 1]
    3. 1  [rule 1: x'z is a kernel; of the constant feature sqrt(1)]
    4. 2 x'z + 1  [rule 3: k1 + k2 is a kernel, from 2 and 3]
    """

    lines: tuple[Line, ...]

    @property
    def proven(self) -> bool:
        """Whether every step stands on a rule or an axiom; a step taken on trust makes it False."""
        return all(line.proven for line in self.lines)

    @property
    def rules(self) -> tuple[int, ...]:
        """The closure rules used, in order."""
        return tuple(line.rule for line in self.lines if line.rule)

    def latex(self) -> str:
        """Return the proof as a LaTeX ``align*`` block."""
        rows = " \\\\\n".join(line.latex(i) for i, line in enumerate(self.lines, 1))
        return f"\\begin{{align*}}\n{rows}\n\\end{{align*}}"

    def __str__(self) -> str:
        return "\n".join(line.text(i) for i, line in enumerate(self.lines, 1))

    def __repr__(self) -> str:
        return str(self)

    def __len__(self) -> int:
        return len(self.lines)


@dataclass
class Proof:
    """A proof being written: kernels add their lines and cite earlier ones by number."""

    lines: list[Line] = field(default_factory=list)
    _of: dict[Kernel, int] = field(default_factory=dict)

    def rule(self, number: int, claim: Formula, *uses: int, note: str = "") -> int:
        """Add a step by one of the eight closure rules; return its number."""
        return self._add(Line(claim, f"{RULES[number]}{f'; {note}' if note else ''}", uses, number))

    def axiom(self, claim: Formula, reason: str, *uses: int) -> int:
        """Add a step by a named theorem or an identity; return its number."""
        return self._add(Line(claim, reason, uses))

    def trust(self, claim: Formula, reason: str) -> int:
        """Add a step that nothing proves; the derivation is then not ``proven``."""
        return self._add(Line(claim, reason, proven=False))

    def of(self, kernel: Kernel) -> int:
        """Prove a part (once: an equal part is cited, not proved again); return the number of its last step."""
        if kernel not in self._of:
            self._of[kernel] = kernel._prove(self)
        return self._of[kernel]

    def _add(self, line: Line) -> int:
        self.lines.append(line)
        return len(self.lines)
