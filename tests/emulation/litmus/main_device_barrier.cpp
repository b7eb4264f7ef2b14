// KERNEL

int main(int, char** arguments) {
    constexpr unsigned DEVICES = 2, BLOCKS = 2, THREADS = 32;
    static u64 arrivals[DEVICES], released[DEVICES], flags[DEVICES][DEVICES], abort[DEVICES], wrong[1];
    static u64 cells[DEVICES * BLOCKS * THREADS];
    static Barrier barriers[DEVICES];
    for (unsigned d = 0; d < DEVICES; ++d) {
        Barrier& m = barriers[d];
        m = {&arrivals[d], &released[d], {}, {}, DEVICES, d, 60000000000ull};
        for (unsigned k = 0; k < DEVICES; ++k) m.flags[k] = flags[k], m.abort[k] = &abort[k];
    }
    weak_watch(arrivals, sizeof arrivals, "arrivals");
    weak_watch(released, sizeof released, "released");
    weak_watch(flags, sizeof flags, "flags");
    weak_watch(abort, sizeof abort, "abort");
    weak_watch(cells, sizeof cells, "cells");
    weak_launch(DEVICES, BLOCKS, THREADS, atoi(arguments[1]), [](unsigned d) { litmus(barriers, cells, wrong, d, 4); });
    return wrong[0] != 0 || abort[0] || abort[1];
}
