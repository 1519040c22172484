"""What a benchmark is: a case, which measures contenders, and the bars its seconds are held against.

A module adds its cases by a list ``CASES``; run.py names the modules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

Seconds = Mapping[str, float]


class Skip(Exception):  # noqa: N818  # not an error: a case that cannot run here, with the reason
    """Raised by a case that cannot run here; the message says why."""


@dataclass(frozen=True)
class Scene:
    """Where and how large: what every case is given."""

    data: Path
    prototypes: Path
    threads: int = 2
    repeats: int = 5
    shrink: int = 1

    def size(self, full: int) -> int:
        """Return a number of rows, shrunk if asked for, in hundreds."""
        return max(500, full // self.shrink // 100 * 100)


@dataclass(frozen=True)
class Measured:
    """Median seconds of each contender, and how far apart their answers were (None: there is no answer to compare)."""

    seconds: Seconds
    disagreement: float | None = None
    allowed: float = 1e-3
    spread: Seconds = field(default_factory=dict)
    note: str = ""
    entries: float = 0.0  # kernel values computed, for bars that are rates
    scores: Seconds = field(default_factory=dict)  # what else is judged: test errors, memory; smaller is better

    def but(self, **changes: object) -> Measured:
        """Return it with some fields changed."""
        return replace(self, **changes)

    @property
    def agrees(self) -> bool:
        return self.disagreement is None or self.disagreement <= self.allowed


@dataclass(frozen=True)
class Verdict:
    """One line of the table."""

    ours: str
    peer: str
    ratio: str
    bar: str
    met: bool | None
    value: float


@dataclass(frozen=True)
class Case:
    """A name, the bars, and a function that measures."""

    name: str
    bars: tuple[Bar, ...]
    measure: Callable[[Scene], Measured]


def seconds_text(s: float) -> str:
    return f"{s:.3f} s" if s >= 0.1 else f"{s * 1e3:.3g} ms"


# ---------------------------------------------------------------- bars


@dataclass(frozen=True)
class Faster:
    """The fastest contender whose name starts with one of ``peers`` takes at least ``limit`` times our time.

    Without a limit the ratio is shown and not judged.
    """

    limit: float | None
    peers: tuple[str, ...]
    ours: str = "mercer"

    def judge(self, found: Measured) -> Verdict:
        seconds = found.seconds
        peer = fastest(seconds, self.peers)
        ratio = seconds[peer] / seconds[self.ours]
        wanted = "-" if self.limit is None else f">= {self.limit:g} x"
        met = None if self.limit is None else round(ratio, 2) >= self.limit
        times = seconds_text(seconds[self.ours]), f"{peer} {seconds_text(seconds[peer])}"
        return Verdict(*times, f"{ratio:.2f}", wanted, met, ratio)


@dataclass(frozen=True)
class Within:
    """Our time is at most ``limit`` times that of the fastest such peer."""

    limit: float
    peers: tuple[str, ...]
    ours: str = "mercer"

    def judge(self, found: Measured) -> Verdict:
        seconds = found.seconds
        peer = fastest(seconds, self.peers)
        ratio = seconds[self.ours] / seconds[peer]
        times = seconds_text(seconds[self.ours]), f"{peer} {seconds_text(seconds[peer])}"
        return Verdict(*times, f"{ratio:.2f}", f"<= {self.limit:g} x", round(ratio, 2) <= self.limit, ratio)


@dataclass(frozen=True)
class Rate:
    """Kernel entries a second on each core, at least ``limit``."""

    limit: float
    cores: int
    ours: str = "mercer"

    def judge(self, found: Measured) -> Verdict:
        s = found.seconds[self.ours]
        rate = found.entries / s / self.cores
        text, wanted = f"{rate / 1e9:.2f}e9/s/core", f">= {self.limit / 1e9:g}e9"
        return Verdict(seconds_text(s), "(none)", text, wanted, rate >= self.limit, rate)


@dataclass(frozen=True)
class Under:
    """Fewer than ``limit`` seconds."""

    limit: float
    ours: str = "mercer"

    def judge(self, found: Measured) -> Verdict:
        s = found.seconds[self.ours]
        return Verdict(seconds_text(s), "(none)", f"{s:.2f} s", f"< {self.limit:g} s", s < self.limit, s)


@dataclass(frozen=True)
class Below:
    """A score, such as a test error or the memory taken, is at most ``limit``."""

    limit: float
    what: str
    name: str

    def judge(self, found: Measured) -> Verdict:
        score = found.scores[self.name]
        return Verdict(
            f"{score:.4g}", "(none)", f"{score:.4g} {self.what}", f"<= {self.limit:g}", score <= self.limit, score
        )


@dataclass(frozen=True)
class NoWorse:
    """Our score is at most that of the best such peer, up to half a percent."""

    what: str
    peers: tuple[str, ...]
    ours: str = "mercer"

    def judge(self, found: Measured) -> Verdict:
        best = min(value for name, value in found.scores.items() if name.startswith(self.peers))
        score = found.scores[self.ours]
        met = score <= 1.005 * best
        return Verdict(f"{score:.4g}", f"{self.what} {best:.4g}", f"{score / best:.3f}", "<= 1.005", met, score / best)


Bar = Faster | Within | Rate | Under | Below | NoWorse


def fastest(seconds: Seconds, peers: tuple[str, ...]) -> str:
    """Return the fastest contender whose name starts with one of ``peers``."""
    return min((name for name in seconds if name.startswith(peers)), key=lambda name: seconds[name])
