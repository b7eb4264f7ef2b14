// A search whose levels publish a queue of vertices; labels are left out, since they are raced for by atomics. EXTRA are
// arguments that only some strategies have.

#define VERTEX u32
#define TREE 0
// KERNEL

#include "tests/emulation/litmus/square.hpp"

int main(int, char** arguments) {
    Square square(9);
    static u64 counters[ROUNDS * COUNTER_WORDS], arrivals[1], log[80], progress[3];
    std::vector<VERTEX> queue(square.vertices);
    weak_watch(counters, sizeof counters, "counters");
    weak_watch(progress, sizeof progress, "progress");
    weak_watch(arrivals, sizeof arrivals, "arrivals");
    weak_watch(queue.data(), queue.size() * sizeof(VERTEX), "queue");
    weak_launch(1, 3, 32, atoi(arguments[1]), [&](unsigned) {
        search(square.offsets.data(), square.columns.data(), square.distance.data(), nullptr, nullptr, queue.data(), counters,
               EXTRA log, arrivals, square.vertices, 1000, 64, 0);
    });
    return !square.is_right();
}
