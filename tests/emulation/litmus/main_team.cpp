// KERNEL

int main(int, char** arguments) {
    constexpr unsigned BLOCKS = 3, THREADS = 64;
    static u64 slots[2 * MAX_IN_TEAM], cells[BLOCKS * THREADS], wrong[1];
    weak_watch(slots, sizeof slots, "slots");
    weak_watch(cells, sizeof cells, "cells");
    weak_launch(1, BLOCKS, THREADS, atoi(arguments[1]), [](unsigned) { litmus(slots, cells, wrong, 4); });
    return wrong[0] != 0;
}
