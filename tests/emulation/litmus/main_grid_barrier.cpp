// KERNEL

int main(int, char** arguments) {
    constexpr unsigned BLOCKS = 3, THREADS = 64;
    static u64 arrivals[1], cells[BLOCKS * THREADS], wrong[1];
    weak_watch(arrivals, sizeof arrivals, "arrivals");
    weak_watch(cells, sizeof cells, "cells");
    weak_launch(1, BLOCKS, THREADS, atoi(arguments[1]), [](unsigned) { litmus(arrivals, cells, wrong, 4); });
    return wrong[0] != 0;
}
