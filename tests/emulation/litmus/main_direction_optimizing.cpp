// A direction-optimizing search of a square, with teams, all of whose counters, queues and slots are watched. Bitmaps and
// distances are left out: they are raced for by atomics.

#define VERTEX u32
#define TREE 0
#define DEFER_ROWS 0
// KERNEL

#include "tests/emulation/litmus/square.hpp"

int main(int, char** arguments) {
    constexpr unsigned BLOCKS = 3, THREADS = 64, ROOM = 1 << 12;
    Square square(12);
    u64 words = (square.vertices + 255) / 256 * 8;
    static u64 control[SIDES * CONTROL_WORDS], slots[2 * MAX_IN_TEAM], arrivals[1], queue[ROOM];
    static u64 log[TRACE + TRACED_WORDS * MAX_TRACED];
    static VERTEX hubs[ROOM];
    std::vector<VERTEX> heads(2 * 32 * words), next_neighbours(8);
    std::vector<u32> closed(words), bitmaps(2 * words);
    square.distance.assign(words * 32, -1);
    weak_launch(1, 1, 32, 0, [&](unsigned) {
        find_first_neighbours(square.offsets.data(), square.columns.data(), square.vertices, words * 32, 0, heads.data(), next_neighbours.data(),
                   closed.data());
    });
    weak_watch(control, sizeof control, "control");
    weak_watch(slots, sizeof slots, "counts");
    weak_watch(arrivals, sizeof arrivals, "arrivals");
    weak_watch(queue, sizeof queue, "queue");
    weak_watch(hubs, sizeof hubs, "hubs");
    u64 limit = atoi(arguments[1]) % 2 ? 16 : 0;
    weak_launch(1, BLOCKS, THREADS, atoi(arguments[1]), [&](unsigned) {
        search(square.offsets.data(), square.columns.data(), heads.data(), next_neighbours.data(), closed.data(), bitmaps.data(),
               square.distance.data(), nullptr, nullptr, queue, nullptr, hubs, control, slots, log, arrivals, square.vertices, words,
               square.vertices, square.columns.size(), 1, 1000, 4.0, 24.0, 0.0, 1e9, 2, 2, 64, limit, 1024, 1.0, 0, 2, 0, 0);
    });
    return !square.is_right();
}
