"""Finds values that the words before them tell: ``password: …``, ``PESEL …``, ``生年月日 …``."""
