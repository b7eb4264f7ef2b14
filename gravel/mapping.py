"""Labels taken out of a search's workspace, in the order of the caller's ids, where they lie."""

from __future__ import annotations

from typing import Any


def mapped_back(permutation: Any, distance: Any, predecessor: Any) -> tuple[Any, Any]:
    """Return new arrays of distances and predecessors; None stays. `permutation[old] = new`."""
    from gravel.kernels.strategy import backend_of

    labels = distance if distance is not None else predecessor
    if backend_of(labels) == "cuda":
        return _on_device(permutation, distance, predecessor)
    import numpy

    from gravel.kernels.relabel import distances_back, invert, predecessors_back

    if distance is not None:
        distance, there = numpy.empty_like(distance), distance
        distances_back(permutation, there, distance)
    if predecessor is not None:
        inverse = numpy.empty_like(permutation)
        invert(permutation, inverse)
        predecessor, there = numpy.empty_like(predecessor), predecessor
        predecessors_back(permutation, inverse, there, predecessor)
    return distance, predecessor


def copied(*labels: Any) -> list[Any]:
    """Return new arrays of labels in the order that they have, where they lie; None stays."""
    from gravel.kernels.strategy import backend_of

    if any(backend_of(each) == "cuda" for each in labels):
        from gravel.kernels.bfs.cuda.levels import taken

        return [None if each is None else taken(each) for each in labels]
    return [None if each is None else each.copy() for each in labels]


def components_back(permutation: Any, component: Any) -> Any:
    """Return labels that name the smallest vertex of each component in the order of the caller's ids."""
    from gravel.kernels.strategy import backend_of

    if backend_of(component) == "cuda":
        from gravel.kernels.components.cuda.relabel import components_back as back_on_device

        return back_on_device(permutation, component)[0]
    import numpy

    from gravel.kernels import relabel

    smallest, result = numpy.empty_like(component), numpy.empty_like(component)
    relabel.components_back(permutation, component, smallest, result)
    return result


def _on_device(permutation: Any, distance: Any, predecessor: Any) -> tuple[Any, Any]:
    from gravel.kernels.relabel_cuda import LabelsBack

    made = LabelsBack(
        permutation,
        distance=distance is not None,
        predecessor=predecessor is not None,
        tree="int32" if predecessor is None else predecessor.dtype,
    )
    back = made.run(distance, predecessor)
    return back[0], back[1]
