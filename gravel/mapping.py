"""Labels taken out of a search's workspace, in the order of the caller's ids, where they lie."""

from __future__ import annotations

from functools import cached_property
from typing import Any


class LabelMap:
    """Brings labels of a reordered graph to the order of the caller's ids; `permutation[old] = new`."""

    def __init__(self, permutation: Any) -> None:
        self._permutation = permutation
        self._there: Any = None

    def back(self, distance: Any, predecessor: Any) -> tuple[Any, Any]:
        """Return new arrays of distances and predecessors, where they lie; None stays."""
        from gravel.kernels.arrays import backend_of

        if "cuda" in (backend_of(distance), backend_of(predecessor)):
            return self._on_device(distance, predecessor)
        import numpy

        from gravel.kernels.relabel import distances_back, predecessors_back

        if distance is not None:
            distance, there = numpy.empty_like(distance), distance
            distances_back(self._permutation, there, distance)
        if predecessor is not None:
            predecessor, there = numpy.empty_like(predecessor), predecessor
            predecessors_back(self._permutation, self._inverse, there, predecessor)
        return distance, predecessor

    @cached_property
    def _inverse(self) -> Any:
        import numpy

        from gravel.kernels.relabel import invert

        inverse = numpy.empty_like(self._permutation)
        invert(self._permutation, inverse)
        return inverse

    def _on_device(self, distance: Any, predecessor: Any) -> tuple[Any, Any]:
        if self._there is None:
            from gravel.kernels.relabel_cuda import LabelsBack

            self._there = LabelsBack(
                self._permutation,
                distance=distance is not None,
                predecessor=predecessor is not None,
                tree="int32" if predecessor is None else predecessor.dtype,
            )
        back = self._there.run(distance, predecessor)
        self._there.hand_over()
        return back[0], back[1]


def copied(*labels: Any) -> list[Any]:
    """Return new arrays of labels in the order that they have, where they lie; None stays."""
    from gravel.kernels.arrays import backend_of

    if any(backend_of(each) == "cuda" for each in labels):
        from gravel.kernels.bfs.cuda.taken import taken

        return [None if each is None else taken(each) for each in labels]
    return [None if each is None else each.copy() for each in labels]


def components_back(permutation: Any, component: Any) -> Any:
    """Return labels that name the smallest vertex of each component in the order of the caller's ids."""
    from gravel.kernels.arrays import backend_of

    if backend_of(component) == "cuda":
        from gravel.kernels.components.cuda.relabel import components_back as back_on_device

        return back_on_device(permutation, component)[0]
    import numpy

    from gravel.kernels import relabel

    smallest, result = numpy.empty_like(component), numpy.empty_like(component)
    relabel.components_back(permutation, component, smallest, result)
    return result
