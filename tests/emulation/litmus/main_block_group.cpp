// A persistent search of a square, with parts so small that the frontier is dealt often. Labels are left out: a claim
// that came too deep is corrected.

#define VERTEX u32
#define TREE 0
#define LAYOUT csr
#define WIDTH 4
// KERNEL

#include "tests/emulation/litmus/square.hpp"

int main(int, char** arguments) {
    constexpr unsigned BLOCKS = 3, THREADS = 64, CAPACITY = 48, ROOM = BLOCKS * THREADS / 32 * CAPACITY;
    Square square(40);
    static u64 slots[2 * BLOCKS], notice[NOTICE_WORDS], control[SIDES * CONTROL_WORDS], arrivals[1], log[80];
    alignas(16) static VERTEX dealt[(WIDTH + 2) * ROOM];
    std::vector<VERTEX> queue(square.vertices), listed(8);
    std::unique_ptr<uint4[]> records(new uint4[square.vertices]);
    auto* words = reinterpret_cast<VERTEX*>(records.get());
    weak_launch(1, 1, 32, 0, [&](unsigned) {
        make_records(square.offsets.data(), square.columns.data(), words, square.vertices);
    });
    weak_watch(slots, sizeof slots, "slots");
    weak_watch(notice, sizeof notice, "notice");
    weak_watch(control, sizeof control, "control");
    weak_watch(arrivals, sizeof arrivals, "arrivals");
    weak_watch(dealt, sizeof dealt, "dealt");
    weak_watch(queue.data(), queue.size() * sizeof(VERTEX), "queue");
    weak_launch(1, BLOCKS, THREADS, atoi(arguments[1]), [&](unsigned) {
        search(square.offsets.data(), square.columns.data(), square.distance.data(), nullptr, nullptr, words, queue.data(),
               listed.data(), dealt, slots, notice, control, 1, CAPACITY, 2, 4, 6, 8, 0, 64, ROOM, ROOM, 1.2, 64, 2, log,
               arrivals, square.vertices, 1000, 0, 0);
    });
    printf("%llu notices\n", notice[NUMBER]);
    return !square.is_right() || notice[NUMBER] < 4;
}
