"""Model files: LIBSVM text both ways."""

__all__: list[str] = []
