"""Model files in an open format: no pickle, nothing in them runs."""

from mercer.files.libsvm import read_libsvm, write_libsvm

__all__ = ["read_libsvm", "write_libsvm"]
