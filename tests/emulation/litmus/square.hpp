// A square of vertices, each joined to those beside it, and its distances from a corner.

struct Square {
    u64 side, vertices;
    std::vector<i64> offsets;
    std::vector<u32> columns;
    std::vector<i32> distance;

    explicit Square(u64 side) : side(side), vertices(side * side), offsets(1), distance(vertices, -1) {
        for (u64 v = 0; v < vertices; ++v) {
            u64 row = v / side, column = v % side;
            if (row) columns.push_back(u32(v - side));
            if (column) columns.push_back(u32(v - 1));
            if (column + 1 < side) columns.push_back(u32(v + 1));
            if (row + 1 < side) columns.push_back(u32(v + side));
            offsets.push_back(i64(columns.size()));
        }
    }
    bool is_right() const {
        for (u64 v = 0; v < vertices; ++v)
            if (distance[v] != i32(v / side + v % side)) return false;
        return true;
    }
};
