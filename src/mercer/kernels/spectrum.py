"""The spectrum kernel of strings."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from mercer._checks import describe, integer, refuse
from mercer.kernels import _form as forms
from mercer.kernels._derivation import Formula, Proof
from mercer.kernels._form import Form, Fused
from mercer.kernels._kernel import Kernel
from mercer.kernels._objects import joint_counts, object_list
from mercer.kernels._statistics import Dot
from mercer.kernels._views import Step


@dataclass(frozen=True)
class Words(Step):
    """Count the words of length k in each string, up to some mismatches, over the words of both sides."""

    k: int
    mismatches: int
    alphabet: str | None

    def __call__(self, X: Any, Y: Any) -> tuple[Any, Any]:
        near = functools.cache(self._near)  # a word met again costs nothing
        sides = [None if side is None else [self._count(s, i, near) for i, s in _strings(side)] for side in (X, Y)]
        assert sides[0] is not None  # X is always there
        return joint_counts(sides[0], sides[1])

    def _count(self, text: str, i: int, near: Any) -> Counter[Hashable]:
        strange = set(text) - set(self.alphabet) if self.alphabet is not None else set()
        if strange:
            got = f"{min(strange)!r} in row {i}"
            refuse("Spectrum", f"strings must use the alphabet {self.alphabet!r}", got, "Add the letter to alphabet.")
        counts: Counter[Hashable] = Counter(text[j : j + self.k] for j in range(len(text) - self.k + 1))
        if not self.mismatches:
            return counts
        total: Counter[Hashable] = Counter()
        for word, count in counts.items():
            total.update(dict.fromkeys(near(word), count))
        return total

    def _near(self, word: str) -> list[str]:
        """Return the words of the alphabet that differ from this one in at most so many places."""
        found = []
        for n in range(self.mismatches + 1):
            for places in itertools.combinations(range(self.k), n):
                others = ([a for a in self.alphabet or "" if a != word[p]] for p in places)
                found += [_replaced(word, places, letters) for letters in itertools.product(*others)]
        return found


def _replaced(word: str, places: tuple[int, ...], letters: tuple[str, ...]) -> str:
    new = list(word)
    for place, letter in zip(places, letters, strict=True):
        new[place] = letter
    return "".join(new)


def _strings(X: Any) -> Iterator[tuple[int, str]]:
    for i, s in enumerate(object_list("Spectrum", X, "strings")):
        if not isinstance(s, str):
            refuse("Spectrum", "X must hold strings", f"{describe(s)} in row {i}", "For sets use SetIntersection.")
        yield i, s


@dataclass(frozen=True, eq=False, repr=False)
class Spectrum(Kernel):
    """k(x, z) = sum over words w of length k of count_w(x) count_w(z), for strings x and z.

    count_w(x) is how often w stands in x, or, with ``mismatches``, how many words of x differ from w in at most so
    many places. A string shorter than k counts nothing. ``Spectrum(3).normalized()`` forgets the lengths of strings.

    Parameters
    ----------
    k : int
        The length of the words, >= 1.
    mismatches : int
        How many letters may differ, < k. Every word then counts for C(k, m) (a - 1)^m words of an alphabet of a.
    alphabet : str, optional
        The letters; others are refused. Needed with mismatches, so that a value does not depend on what other
        strings there are.

    Examples
    --------
    >>> from mercer.kernels import Spectrum
    >>> Spectrum(2)(["banana", "ban"])
    array([[9., 3.],
           [3., 2.]])
    >>> Spectrum(2, mismatches=1, alphabet="ab")(["ab"], ["bb", "ba"])
    array([[2., 2.]])
    """

    k: int = 3
    mismatches: int = 0
    alphabet: str | None = None

    def __post_init__(self) -> None:
        integer("Spectrum", "k", self.k, 1)
        integer("Spectrum", "mismatches", self.mismatches, 0)
        if self.mismatches >= self.k:
            refuse("Spectrum", f"'mismatches' must be below k = {self.k}", self.mismatches, "Lower it, or raise k.")
        if self.alphabet is None and self.mismatches:
            refuse("Spectrum", "mismatches need an alphabet", None, "Give alphabet='ACGT', for example.")
        letters: Any = self.alphabet
        if letters is not None and (not isinstance(letters, str) or not letters or len(set(letters)) < len(letters)):
            wanted = "'alphabet' must be a string of distinct letters"
            refuse("Spectrum", wanted, describe(letters), "Give 'ACGT', for example.")

    def form(self) -> Form:
        words = Words(int(self.k), int(self.mismatches), self.alphabet)
        return Fused(forms.Identity(), (Dot(),), (words,))

    def formula(self) -> Formula:
        m = f",{self.mismatches}" if self.mismatches else ""
        return Formula(f"c_{self.k}{m}(x)'c_{self.k}{m}(z)", rf"c_{{{self.k}{m}}}(x)^\top c_{{{self.k}{m}}}(z)")

    def _prove(self, proof: Proof) -> int:
        also = f", up to {self.mismatches} mismatches" if self.mismatches else ""
        return proof.rule(1, self.formula(), note=f"of the vectors that count the words of length {self.k}{also}")
