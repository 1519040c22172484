"""Pictures of machines and of searches; matplotlib is asked for when the first is drawn."""

from mercer.display.decision import draw_decision
from mercer.display.scores import draw_scores

__all__ = ["draw_decision", "draw_scores"]
