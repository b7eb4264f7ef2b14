// Searches of a square from three corners at once. Masks are left out: blocks race for them by atomics.

#define VERTEX u32
#define TREE 0
#define LAYOUT csr
// KERNEL

#include "tests/emulation/litmus/square.hpp"

int main(int, char** arguments) {
    constexpr unsigned SEARCHES = 3;
    Square square(11);
    u64 n = square.vertices;
    static u64 control[SIDES * CONTROL_WORDS], arrivals[1], log[LOG_FIRST + MAX_CHANGES + 4];
    std::vector<u64> masks(2 * n), rows(n), offers(n);
    std::vector<VERTEX> found(n), owners(n);
    std::vector<i64> sources(64);
    sources[1] = i64(square.side - 1), sources[2] = i64(n - 1);
    square.distance.assign(SEARCHES * n, -1);
    Tree predecessor[1];
    weak_watch(control, sizeof control, "control");
    weak_watch(arrivals, sizeof arrivals, "arrivals");
    weak_watch(rows.data(), 8 * n, "rows");
    weak_watch(found.data(), 4 * n, "found");
    weak_watch(owners.data(), 4 * n, "owners");
    weak_launch(1, 3, 64, atoi(arguments[1]), [&](unsigned) {
        search(square.offsets.data(), square.columns.data(), masks.data(), square.distance.data(), predecessor, found.data(),
               rows.data(), offers.data(), owners.data(), control, log, arrivals, n, square.columns.size(), 1, 1, 1000, 2.0, 4.0,
               sources.data(), SEARCHES);
    });
    return !square.is_right();
}
