"""Ids that were recorded once: whatever way artifacts are stored, they keep them."""

from __future__ import annotations

from pathlib import Path

import numpy

from gravel.pipeline.store.cache import Cache
from gravel.pipeline.store.identity import identify
from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import EdgeList, Traversal
from tests.pipeline.samples import each_kind, equal

IDS = """\
862b25e4f8f9772fd166acbb2f56479ca0d0229c074069675c07aa9130f3e784
e07842812b5eca41329444c6814bfba85a8a94fdc332465ae1a3bd07f0269f4c
effef47e30832bacd42c8fbd5848dc283f477399c1a08cbf871882d973485c74
4e99d91e75186bdc05ef203367ed35ebbd800dde366a18eddeffd685d412568a
a282add6ad372e9f50cc62b141c90d7ebc083b728d248b28e1ca05427567d0ed
8434581412d4b6414065e937bee66df7a595ecb156f0dee801305cceb29e1e14
3c947f656dd63e4bc267262102b54b9dd9bfc51431effcf4a4f52975cbb47e2d
87e97e20c4ccef153807d588a3a22e76682fac98f723d69776dcbd992b01d8d7
4ca9b3fed78b236980da872984e3ef7271a929e5573d84fea535c1921dc491d1
c63e6083d053f6c9613eab4e0d7d3dec58ef056f376f1c9f6e7e0f3bc2ae37a7
42a540e0f222990233d42f0a7f78188c3963d256999d2830812ef0de067e07f4
b071e74b6af434329f557648664b6039f7fea7025ed4a72dcf081c3b7d384c4c
cb175914659a82dfdb5fe407d056fbeb5ff7c923d9078f1870b677cf5fab4ead
52fbaddb8f9252644e9452e9e76e7a9c1a80cc027abe69cfb398496966c606b5
fe2564664bdcbc8192f18e4741a6b102e2ad0a5430f39c79b2b55573d870e173
6d70e68c873ba3f6d568da2ce971868ddfe546db4e593ecd75d677679b053755
6e9661896716853fab98f34c9dbd68aaf7f8f59dc626354cc5b7b342a3b2b1d6
816b6e2db881a5a871e96cb37e607c638691928d09bbde39ef39abcc80c7cf8b
6cf0236e82625aff54172bf5ef011f037c5db4174d57113972a0b87663458fbf
b18e364cfd34f6e1cf5a941be1a8929e9cb512141e51a3d3c3f99300547ba937
5502199c8d994083371932565b96e50a6c9d159a74e9ca0b4dd3407d4845ee87
73db193e202a103c7fe656b4aa84448860ca8e78eca517ec8870a876ead53a9d
eae225e1ddb705c3bb369e3c5d97c604bc4f159d491c864fb70c6d5aba786e35
e7cbe2c8463baed93d4d6d4af346ff09562488eead8598ab73fd2c80e187677c
909eefab671efba4c32a89edfd287a5e49ba111cdeac4e8a839c752708ffbc6e
1cdec094babe1d4a3a19c6114ea1ed9fd7b6714d3918da2708ff8ec5cf86512c
"""


def artifacts() -> list[Artifact]:
    """One of every kind, and arrays that are larger than a leaf of the id, in several shapes and orders."""
    words = numpy.random.default_rng(4).integers(0, 2**32, 800_003, numpy.uint32)
    signed = words.view(numpy.int32)
    return [
        *each_kind(),
        Traversal(algorithm="components", component=words, vertex_count=len(words)),
        Traversal(algorithm="components", component=words[: 1 << 18], vertex_count=1 << 18),
        Traversal(
            algorithm="bfs",
            sources=numpy.arange(2),
            distance=signed[:800_000].reshape(2, 400_000),
            vertex_count=400_000,
        ),
        Traversal(algorithm="bfs", distance=signed[:800_001].reshape(-1, 3), vertex_count=3),
        EdgeList(source=words[::2], target=words[1::2], vertex_count=2**32, undirected=True),
        EdgeList(
            source=words.astype(">u4"),
            target=words,
            weight=words.astype(">f8"),
            vertex_count=2**32,
            undirected=False,
        ),
    ]


def test_ids_are_those_that_were_recorded(tmp_path: Path) -> None:
    given = artifacts()
    assert [identify(each) for each in given] == IDS.split()
    cache = Cache(tmp_path)
    with cache.writer() as writer:
        assert [writer.publish(each).id for each in given] == IDS.split()
    assert cache.verify().damaged == {}
    little_endian = given[:-1]
    assert all(equal(cache.open(name), each) for name, each in zip(IDS.split(), little_endian, strict=False))
