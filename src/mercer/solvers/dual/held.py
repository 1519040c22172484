"""Problems on a matrix that is held whole: folds and costs of a search, each beginning where its neighbour ended.

With all of K at hand there are no working sets to choose and no rows to compute: descent runs over all variables, and
after a while over those that may still move, gathered close together. Rows that are not in a problem have a box of no
width, so that folds need no copies of K, and the values of f there come for free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._jit import compiled
from mercer.gram import Gram
from mercer.gram._lines import add_rows
from mercer.gram._shelf import PADDING
from mercer.gram._sources import Buffers
from mercer.solvers.dual._descend import Block, descend, evenly, whole_lanes
from mercer.solvers.dual._feasible import box, feasible
from mercer.solvers.dual._survey import Standing, levels, survey
from mercer.solvers.dual.quadratic import BoxAnswer, BoxQuadratic
from mercer.solvers.solution import Status

SPARE = 0.5  # a problem on fewer of the rows than this gets a copy of its own
BURST = 0.5  # steps over all variables, for each of them, before those at rest are left out
AT_REST = 0.55  # it pays when the others are no more than this share
SHARE_OF_GAP = 0.05  # how far the others descend, of the whole violation


@dataclass(frozen=True, eq=False)
class Walked:
    """An answer, and the values of f at all rows of K where these came for free."""

    answer: BoxAnswer
    values: np.ndarray | None


class Held:
    """All of a Gram of points with themselves, as an array. Memory: n^2 numbers in its dtype.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import gram
    >>> from mercer.kernels import Linear
    >>> from mercer.losses import Hinge
    >>> from mercer.solvers.dual import Held, of_loss
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [3.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> K = gram(Linear(), X)
    >>> path = [of_loss(K, np.arange(4), y, Hinge(), np.full(4, C)).box for C in (0.1, 10.0)]
    >>> [walked.answer.c.round(3).tolist() for walked in Held(K).walk(path)]
    [[-0.1, -0.1, 0.1, 0.1], [0.0, -0.5, 0.5, 0.0]]
    """

    def __init__(self, K: Gram) -> None:
        self.gram, self.n = K, K.shape[0]
        self.matrix = np.zeros((whole_lanes(self.n), whole_lanes(self.n) + PADDING), K.dtype)
        K.block(out=self.matrix[: self.n, : self.n])
        self.diag = K.diag()

    def walk(
        self, boxes: Sequence[BoxQuadratic], *, tol: float = 1e-3, max_steps: int = 10**7,
        expired: Callable[[], bool] = lambda: False, buffers: Buffers | None = None,
    ) -> Iterator[Walked]:  # fmt: skip  # the problems, then how to solve them
        """Solve problems on the same rows one after the other, each from the best multiple of the last answer.

        Parameters
        ----------
        boxes : sequence of BoxQuadratic
            With the same rows, groups and sums; bounds and linear terms differ.
        tol : float
            The largest violation of the optimality conditions.
        max_steps : int
            Steps for each.
        expired : callable
            Whether to stop; what is left is then returned as it stands.
        buffers : Buffers, optional
            Scratch memory of this thread.
        """
        part = _Part(self, boxes[0], Buffers() if buffers is None else buffers)
        c, f = np.zeros(part.size), np.zeros(part.size)  # and the values of f, without ridge and shift
        for problem in boxes:
            yield part.solve(problem, c, f, tol, max_steps, expired)
            c, f = part.last


class _Part:
    """Where the variables of a problem stand: on all of K, or in a copy of their rows."""

    def __init__(self, held: Held, problem: BoxQuadratic, buffers: Buffers) -> None:
        self.buffers, rows = buffers, np.asarray(problem.rows)
        self.whole = len(rows) > SPARE * held.n and len(np.unique(rows)) == len(rows)
        if self.whole:
            self.at, self.n, self.G = rows, held.n, held.matrix
            diag = held.diag
        else:
            self.at, self.n = np.arange(len(rows)), len(rows)
            self.G = _gathered(held.matrix, rows, Buffers())
            diag = held.diag[rows]
        self.size = len(self.G)
        self.diag = self.padded(diag, np.arange(self.n))
        self.last = np.zeros(self.size), np.zeros(self.size)

    def padded(self, values: np.ndarray, at: np.ndarray | None = None) -> np.ndarray:
        """Return values of the variables where these stand, zeros elsewhere."""
        out = np.zeros(self.size)
        out[self.at if at is None else at] = values
        return out

    def solve(
        self, problem: BoxQuadratic, c: np.ndarray, f: np.ndarray, tol: float, most: int, expired: Callable[[], bool]
    ) -> Walked:
        lo, hi = (self.padded(bound) for bound in box(problem))
        p, ridge = self.padded(problem.linear), self.padded(problem.ridge)
        group = self.padded(problem.group).astype(np.int64)
        s = _best_multiple(problem, c[self.at], f[self.at])
        moved = self.padded(feasible(problem, s * c[self.at], lo[self.at], hi[self.at]))
        f = s * f + self._product(moved - s * c)
        shift, sums = problem.shift, len(problem.totals)
        F = f + p + ridge * moved + shift * float(moved.sum())
        state = _State(self.G, self.diag, ridge, shift, moved, lo, hi, F, group, sums, self.buffers)
        steps, status = state.descend(tol, most, expired, self.n)
        f = state.F - p - ridge * state.c - shift * float(state.c.sum())
        self.last = state.c, f
        at = self.at
        multipliers = levels(state.c[at], lo[at], hi[at], state.F[at], group[at], sums)
        answer = BoxAnswer(state.c[at], state.F[at], multipliers, state.standing().violation, steps, status)
        return Walked(answer, f[: self.n] if self.whole else None)

    def _product(self, change: np.ndarray) -> np.ndarray:
        moved = np.flatnonzero(change)
        out = np.zeros(self.size)
        add_rows(self.G.ravel(), moved * self.G.shape[1], change[moved], out)
        return out


def _gathered(matrix: np.ndarray, rows: np.ndarray, buffers: Buffers) -> np.ndarray:
    """Return the part of a matrix at some rows and columns, in whole lanes; rows beyond are not written."""
    size = whole_lanes(len(rows))
    out = buffers.tile("gathered", size, size + PADDING, matrix.dtype)
    _gather(matrix.ravel(), matrix.shape[1], rows.astype(np.int64), out.ravel(), out.shape[1])
    return out


@compiled
def _gather(G: Any, stride: Any, rows: Any, out: Any, width: Any) -> None:
    """Copy the entries of a flat matrix at some rows and columns to another, flat too."""
    for i in range(rows.size):
        source, target = G[rows[i] * stride : (rows[i] + 1) * stride], out[i * width : (i + 1) * width]
        for j in range(rows.size):
            target[j] = source[rows[j]]
        for j in range(rows.size, width):
            target[j] = 0


def _best_multiple(problem: BoxQuadratic, c: np.ndarray, f: np.ndarray) -> float:
    """Return the s with s c in the box of least objective, s^2 c'(f + ridge c) / 2 + s p'c; 1 where sums are not 0."""
    if not c.any() or np.asarray(problem.totals).any():
        return 1.0
    curve = float(c @ (f + problem.ridge * c)) + problem.shift * float(c.sum()) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(c > 0, problem.upper / c, np.where(c < 0, problem.lower / c, np.inf))
    best = -float(problem.linear @ c) / curve if curve > 0 else 1.0
    return min(max(best, 0.0), float(room.min()))


@dataclass
class _State:
    """A problem in whole lanes, on its way."""

    G: np.ndarray
    diag: np.ndarray
    ridge: np.ndarray
    shift: float
    c: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    F: np.ndarray
    group: np.ndarray
    sums: int
    buffers: Buffers

    def standing(self) -> Standing:
        """Return who violates and by how much."""
        return survey(self.c, self.lo, self.hi, self.F, self.group, self.sums)

    def descend(self, tol: float, most: int, expired: Callable[[], bool], n: int) -> tuple[int, Status]:
        """Descend until nothing violates by ``tol``, over all variables and those not at rest in turn."""
        steps, burst = 0, max(1000, int(BURST * n))
        while True:
            at = self.standing()
            if at.violation < tol:
                return steps, Status.CONVERGED
            if steps >= most:
                return steps, Status.MAX_STEPS
            if expired():
                return steps, Status.DEADLINE
            done, stuck = self._all(at, tol, min(burst, most - steps), expired)
            steps += done
            at = self.standing()
            if stuck and at.violation >= tol:
                return steps, Status.STALLED
            if at.violation >= tol and steps < most:
                more = self._some(at, tol, most - steps, expired)
                steps, burst = steps + more, max(500, burst // 4) if more else burst

    def _all(self, at: Standing, tol: float, most: int, expired: Callable[[], bool]) -> tuple[int, bool]:
        block = self._block(np.arange(len(self.c)), self.G, at)
        done, stuck = descend(block, tol, most, expired)
        self.c, self.F = block.c, block.F
        return done, stuck

    def _some(self, at: Standing, tol: float, most: int, expired: Callable[[], bool]) -> int:
        """Descend over the variables that are free or violate; nothing where that is most of them."""
        least, largest = at.least[self.group], at.most[self.group]
        up, down = self.c < self.hi, self.c > self.lo
        awake = np.flatnonzero((up & down) | (up & (largest > self.F)) | (down & (least < self.F)))
        if len(awake) > AT_REST * len(self.c) or not len(awake):
            return 0
        block = self._block(awake, _gathered(self.G, awake, self.buffers), at)
        done, _ = descend(block, max(SHARE_OF_GAP * at.violation, 0.5 * tol), most, expired)
        change = block.c[: len(awake)] - self.c[awake]
        moved = np.flatnonzero(change)
        out = np.zeros(len(self.c))
        add_rows(self.G.ravel(), awake[moved] * self.G.shape[1], change[moved], out)
        self.c, self.F = self.c.copy(), self.F + out + self.shift * float(change.sum())
        self.c[awake] = np.clip(block.c[: len(awake)], self.lo[awake], self.hi[awake])
        self.F[awake] += self.ridge[awake] * change
        return done

    def _block(self, members: np.ndarray, G: np.ndarray, at: Standing) -> Block:
        def padded(values: np.ndarray, dtype: type = np.float64) -> np.ndarray:
            out: np.ndarray = np.zeros(len(G), dtype)
            out[: len(members)] = values[members]
            return out

        group = padded(self.group, np.int64)
        level = 0.5 * (at.least + at.most)[group]
        diag = padded(self.diag + self.ridge + (0.0 if self.sums else self.shift))
        return Block(
            G.ravel(), *evenly(len(G), G.shape[1]), diag.astype(G.dtype), padded(self.ridge).astype(G.dtype),
            self.shift, padded(self.c), padded(self.lo), padded(self.hi), padded(self.F), group, self.sums, level,
        )  # fmt: skip  # in the order of the record
