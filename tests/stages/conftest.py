"""Fixtures of stages and of rooms below."""

from tests.stages.counting.ncu_case import ncu

__all__ = ["ncu"]
