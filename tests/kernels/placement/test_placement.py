import numpy
import pytest

from gravel.kernels.placement import PLACEMENTS, DoesNotFit, Limits, Sizes, on_gpu, on_host, place
from gravel.kernels.placement.parts import PartReader
from gravel.kernels.placement.pinned import Pinned, PinnedRefused, buffer, fill, pin, pinnable
from gravel.kernels.placement.plan import BUFFERS, HEADS, LEAST_BUFFER, size_text
from tests.stages.fake_device import fake_device  # noqa: F401

GB = 10**9
# A graph of 3.6 billion arcs and 65 million vertices.
LARGE = Sizes(rows=int(14.4 * GB), on_device=int(45 * GB), beside=int(1.1 * GB), head=int(0.26 * GB))


class Host:
    """Pins at most so many bytes at a time."""

    def __init__(self, most):
        self.most = most
        self.held = {}

    def register(self, address, size):
        if sum(self.held.values()) + size > self.most:
            raise PinnedRefused(f"no more than {self.most} bytes")
        self.held[address] = size

    def unregister(self, address):
        del self.held[address]


@pytest.mark.parametrize(
    ("device", "host", "expected"),
    [
        (None, None, "device"),
        (50 * GB, None, "device"),
        (5.8 * GB, None, "split"),
        (5.8 * GB, 15 * GB, "split"),
        (2.2 * GB, 15 * GB, "split"),
        (2.0 * GB, 15 * GB, "pinned"),
        (5.8 * GB, 2 * GB, "streamed"),
        (1.5 * GB, 1 * GB, "streamed"),
    ],
)
def test_auto_takes_the_first_that_fits(device, host, expected):
    limits = Limits(None if device is None else int(device), None if host is None else int(host))
    plan = on_gpu(LARGE, limits)
    assert plan.placement == expected
    assert limits.device is None or plan.device_bytes <= limits.device
    assert limits.host is None or plan.host_bytes <= limits.host
    assert plan.reason


@pytest.mark.parametrize("asked", PLACEMENTS)
def test_what_is_asked_for_is_taken_though_a_faster_one_fits(asked):
    limits = Limits(100 * GB, 100 * GB)
    if asked == "split":
        limits = Limits(LARGE.on_device - 1, 100 * GB)
    assert on_gpu(LARGE, limits, asked).placement == asked


def test_a_split_of_what_fits_the_device_leaves_nothing_pinned():
    plan = on_gpu(LARGE, Limits(LARGE.on_device, 100 * GB), "split")
    assert (plan.placement, plan.host_bytes, plan.keep) == ("device", 0, 0)
    assert plan.described() == "rows on the device: of a split nothing is left for host memory"
    with pytest.raises(DoesNotFit):
        on_gpu(LARGE, Limits(LARGE.on_device - 1, 0), "split")


def test_a_split_fills_the_device_and_no_more():
    plan = on_gpu(LARGE, Limits(int(5.8 * GB), 20 * GB), "split")
    assert plan.heads == HEADS[0]
    assert plan.device_bytes == int(5.8 * GB)
    assert plan.keep == plan.device_bytes - LARGE.beside - plan.heads * LARGE.head
    fewer = on_gpu(LARGE, Limits(int(3.5 * GB), 20 * GB), "split")
    assert fewer.heads == HEADS[1]
    small = Sizes(rows=1000, on_device=10**6, beside=500, head=10)
    assert on_gpu(small, Limits(100_000, None), "split").keep == 1000


def test_a_refusal_has_the_numbers_and_what_would_fit():
    with pytest.raises(DoesNotFit) as refused:
        on_gpu(LARGE, Limits(int(5.8 * GB), 8 * GB), "pinned")
    assert str(refused.value) == (
        "placement 'pinned' needs 1.1 GB of device memory and 14.4 GB of host memory for rows; "
        "it may take 5.8 GB of device memory and 8 GB of host memory"
    )
    assert refused.value.hint == "what would fit: placement: streamed, or host_memory of at least 14.4 GB"
    with pytest.raises(DoesNotFit) as refused:
        on_gpu(LARGE, Limits(int(5.8 * GB), 20 * GB), "device")
    assert "needs 45 GB of device memory" in str(refused.value)
    assert "placement: split" in refused.value.hint
    assert "device_memory of at least 45 GB" in refused.value.hint


def test_nothing_fits_less_than_offsets_and_labels():
    with pytest.raises(DoesNotFit, match=r"no placement fits: streamed, the least, needs 1\.1 GB"):
        on_gpu(LARGE, Limits(GB, None))
    with pytest.raises(DoesNotFit, match="no placement fits"):
        on_gpu(LARGE, Limits(None, BUFFERS * LEAST_BUFFER - 1), among=("streamed",))
    assert on_gpu(LARGE, Limits(None, BUFFERS * LEAST_BUFFER), "streamed").buffer_bytes == LEAST_BUFFER


def test_only_some_placements_may_be_had():
    assert on_gpu(LARGE, Limits(int(5.8 * GB), None), among=("device", "pinned")).placement == "pinned"
    with pytest.raises(DoesNotFit, match="no placement fits: pinned, the least, needs"):
        on_gpu(LARGE, Limits(int(5.8 * GB), GB), among=("device", "pinned"))


def test_a_cpu_has_rows_in_memory_or_streams_them():
    assert on_host(LARGE, Limits()).placement == "host"
    assert on_host(LARGE, Limits(None, 15 * GB), "pinned").placement == "host"
    streamed = on_host(LARGE, Limits(None, GB))
    assert streamed.placement == "streamed"
    assert streamed.host_bytes == BUFFERS * streamed.buffer_bytes <= GB
    assert on_host(LARGE, Limits(), "streamed").placement == "streamed"
    assert streamed.device_bytes == 0
    with pytest.raises(
        DoesNotFit, match=r"streaming needs 12\.3 kB of host memory for rows; it may take 100 B"
    ):
        on_host(LARGE, Limits(None, 100))


def test_sizes_are_written_as_parameters_take_them():
    assert [size_text(size) for size in (0, 999, 1500, 5_800_000_000, 14_400_000_000, 10**13)] == [
        "0 B", "999 B", "1.5 kB", "5.8 GB", "14.4 GB", "1e+04 GB",
    ]  # fmt: skip


def test_buffers_have_pages_of_their_own():
    for dtype in (numpy.uint32, numpy.uint64, numpy.uint8):
        array = buffer(1000, dtype)
        assert array.shape == (1000,)
        assert array.dtype == dtype
        assert array.ctypes.data % 4096 == 0
        array[:] = 7
    assert len(buffer(0, numpy.uint32)) == 0


class Sliced:
    """Reads slices and remembers which."""

    def __init__(self, values):
        self.values, self.read = values, []
        self.dtype = values.dtype

    def __len__(self):
        return len(self.values)

    def __getitem__(self, key):
        self.read.append((key.start, key.stop))
        return self.values[key]


def test_filling_copies_a_range(monkeypatch):
    monkeypatch.setattr("gravel.kernels.placement.pinned.PIECE_BYTES", 40)
    out = buffer(25, numpy.uint32)
    values = numpy.arange(100, dtype=numpy.uint32)
    array = Sliced(values)
    fill(out, array, 50)
    assert out.tolist() == list(range(50, 75))
    assert array.read == [(50, 60), (60, 70), (70, 75)]


@pytest.mark.parametrize("count", [0, 10, 11, 1234])
def test_filling_by_several_threads(monkeypatch, count):
    monkeypatch.setattr("gravel.kernels.placement.pinned.PIECE_BYTES", 40)
    values = numpy.arange(2000, dtype=numpy.uint32)
    out = buffer(count, numpy.uint32)
    fill(out, values, 17)
    assert numpy.array_equal(out, values[17 : 17 + count])


def test_a_stored_array_is_decoded_into_the_buffer(tmp_path):
    from gravel.pipeline.store.cache import Cache
    from gravel.stages.artifacts import Traversal

    values = numpy.arange(10_000, dtype=numpy.uint32)
    cache = Cache(tmp_path)
    with cache.writer() as writer:
        record = writer.publish(Traversal(algorithm="components", component=values, vertex_count=10_000))
    stored = cache.open(record.id).component
    out = buffer(7000, numpy.uint32)
    fill(out, stored, 2000)
    assert numpy.array_equal(out, values[2000:9000])
    with pytest.raises(ValueError, match="7000 elements from 3001 on were asked for; there are 10000"):
        stored.read_into(out, 3001)
    with pytest.raises(ValueError, match="cannot be read into an array of uint64"):
        stored.read_into(numpy.empty(3, numpy.uint64))


@pytest.mark.parametrize("is_refused", [False, True])
def test_a_mapped_file_is_pinned_for_reading_or_copied(tmp_path, is_refused):
    from gravel.pipeline.store.mapping import map_file

    values = numpy.arange(5000, dtype=numpy.uint32)
    values.tofile(tmp_path / "values")
    with (tmp_path / "values").open("rb") as file:
        mapped = map_file(file.fileno(), "uint32", (5000,))
    asked = []

    class ReadingHost(Host):
        def register(self, address, size, *, read_only=False):
            asked.append(read_only)
            if read_only and is_refused:
                raise PinnedRefused("not supported")
            super().register(address, size)

    pinned = pin(mapped, ReadingHost(1 << 20))
    assert numpy.array_equal(pinned.array, values)
    assert asked == ([True, False] if is_refused else [True])
    assert (pinned.array is mapped) == (not is_refused)


def test_memory_is_pinned_as_long_as_somebody_has_it():
    host = Host(10_000)
    array = buffer(1000, numpy.uint32)
    pinned = pin(array, host)
    assert host.held == {array.ctypes.data: 4000}
    with pytest.raises(PinnedRefused):
        pin(buffer(2000, numpy.uint32), host)
    del pinned
    assert not host.held
    with pytest.raises(PinnedRefused, match="not contiguous and writable"):
        pin(array[::2], host)
    assert isinstance(pin(buffer(0, numpy.uint32), host), Pinned)
    assert not host.held


@pytest.mark.parametrize(("most", "device", "expected"), [(0, None, "device"), (0, 20_000, "streamed")])
def test_without_pinned_memory_the_rows_go_elsewhere(fake_device, most, device, expected):  # noqa: F811
    columns = numpy.arange(5000, dtype=numpy.uint32)
    sizes = Sizes(rows=columns.nbytes, on_device=40_000, beside=4_000, head=400)
    limits = Limits(device, 30_000)
    plan = on_gpu(sizes, limits, "pinned")
    placed = place({"columns": columns}, plan, sizes, limits, host=Host(most))
    assert placed.plan.placement == expected
    assert numpy.array_equal(numpy.asarray(placed.arrays["columns"]), columns)
    assert placed.over_link == 0
    (note,) = placed.notes
    assert note.startswith(
        "the system refuses pinned memory (no more than 0 bytes), so the rows are not pinned"
    )


def test_rows_in_memory_are_pinned_where_they_are(monkeypatch):
    monkeypatch.setattr(Pinned, "view", lambda pinned: pinned.array)
    monkeypatch.setattr("gravel.kernels.placement.placed.LEAST_IN_PLACE", 20_000)
    monkeypatch.setattr("gravel.kernels.placement.pinned.LEAST_IN_PLACE", 20_000)
    host = Host(1 << 20)
    columns = pinnable(5000, numpy.uint32)
    columns[:] = numpy.arange(5000)
    sizes = Sizes(rows=columns.nbytes, on_device=40_000, beside=4_000, head=400)
    plan = on_gpu(sizes, Limits(30_000, None), "pinned")
    placed = place({"columns": columns}, plan, sizes, Limits(30_000, None), host=host)
    assert placed.arrays["columns"] is columns
    assert placed.over_link == columns.nbytes == sum(host.held.values())
    assert placed.described().startswith("placement pinned: ")
    few = place({"columns": columns[:4000]}, plan, sizes, Limits(30_000, None), host=host)
    assert numpy.array_equal(few.arrays["columns"], columns[:4000])
    assert not numpy.shares_memory(few.arrays["columns"], columns)
    between_lines = buffer(6000, numpy.uint32)[4:5004]
    between_lines[:] = columns
    moved = place({"columns": between_lines}, plan, sizes, Limits(30_000, None), host=host)
    assert not numpy.shares_memory(moved.arrays["columns"], between_lines)
    assert numpy.array_equal(moved.arrays["columns"], columns)
    columns.flags.writeable = False
    copied = place({"columns": columns}, plan, sizes, Limits(30_000, None), host=host)
    assert copied.arrays["columns"] is not columns
    assert numpy.array_equal(copied.arrays["columns"], columns)


def test_parts_are_read_ahead_and_no_buffer_is_written_too_early():
    values = numpy.arange(1003, dtype=numpy.uint32)
    array = Sliced(values)
    reader = PartReader(array, 100, [numpy.empty(100, numpy.uint32) for _ in range(3)])
    assert reader.count == 11
    assert reader.bounds(10) == (1000, 1003)
    parts, waited = [0, 2, 3, 4, 8, 9, 10], []
    for place_, (part, elements, slot) in enumerate(reader.read(parts, waited.append)):
        assert part == parts[place_]
        assert slot == place_ % 3
        assert elements.tolist() == list(range(*reader.bounds(part)))
        # A buffer is asked back right before the part after the next ones goes there.
        assert waited == [k % 3 for k in range(min(place_, len(parts) - 3))]
    assert sorted(array.read) == [reader.bounds(part) for part in parts]
    assert [part for part, _, _ in reader.read([5])] == [5]
    assert list(reader.read([])) == []


def test_what_reading_raises_is_raised():
    class Broken(Sliced):
        def __getitem__(self, key):
            if key.start >= 200:
                raise OSError("gone")
            return super().__getitem__(key)

    reader = PartReader(
        Broken(numpy.zeros(500, numpy.uint32)), 100, [numpy.empty(100, numpy.uint32) for _ in range(2)]
    )
    parts = reader.read([0, 1, 2, 3, 4])
    assert [next(parts)[0], next(parts)[0]] == [0, 1]
    with pytest.raises(OSError, match="gone"):
        next(parts)


def test_the_oldest_copies_leave_a_gpu_first_and_go_with_the_hosts() -> None:
    from gravel.kernels.placement.device_copies import DeviceCopies

    class There:
        nbytes = 40

    copies = DeviceCopies()
    copies.budget = 100
    hosts = [numpy.zeros(5) for _ in range(3)]
    assert all(copies.keep(host, There()) for host in hosts)
    assert [copies.find(host) is not None for host in hosts] == [False, True, True]
    assert copies.bytes == 80
    copies.make_room(50)
    assert [copies.find(host) is not None for host in hosts] == [False, False, True]
    hosts.pop()
    assert copies.bytes == 0
    copies.budget = 10
    assert not copies.keep(hosts[0], There())
