"""Kernel machines that are fast and prove their answers."""
