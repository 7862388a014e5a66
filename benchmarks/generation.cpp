// The anchors of the benchmark: boards made and measured as textbooks do it, on ints, one board after the other.
//
//     generation TASK ROWS COLS BOARDS < pipe
//
// TASK is shuffle, distance or table. After the start each line on stdin times one round over all boards, which is
// answered by a line: nanoseconds of processor time a board, and a sum that keeps the work from being left out.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

static bool solvable(const int* board, int rows, int cols) {
    const int cells = rows * cols;
    int inversions = 0;
    int blank = 0;
    for (int i = 0; i < cells; i++) {
        if (board[i] == 0) {
            blank = i;
            continue;
        }
        for (int j = i + 1; j < cells; j++) {
            if (board[j] != 0 && board[i] > board[j]) inversions++;
        }
    }
    if (cols % 2 == 1) return inversions % 2 == 0;
    return (inversions + rows - blank / cols) % 2 == 1;
}

static void shuffle(int* board, int rows, int cols, std::mt19937_64& random) {
    const int cells = rows * cols;
    std::iota(board, board + cells, 0);
    std::shuffle(board, board + cells, random);
    if (solvable(board, rows, cols)) return;
    int first = 0;
    while (board[first] == 0) first++;
    int second = first + 1;
    while (board[second] == 0) second++;
    std::swap(board[first], board[second]);
}

// The tiles of one line that must leave it: those at home in it, less the longest increasing subsequence.
static int leavers(const int* place, int count) {
    int longest = 0;
    int length[64];
    for (int i = 0; i < count; i++) {
        length[i] = 1;
        for (int j = 0; j < i; j++) {
            if (place[j] < place[i]) length[i] = std::max(length[i], length[j] + 1);
        }
        longest = std::max(longest, length[i]);
    }
    return count - longest;
}

static int distance(const int* board, int rows, int cols) {
    int total = 0;
    int place[64];
    for (int i = 0; i < rows * cols; i++) {
        if (board[i] == 0) continue;
        const int home = board[i] - 1;
        total += std::abs(i / cols - home / cols) + std::abs(i % cols - home % cols);
    }
    for (int row = 0; row < rows; row++) {
        int count = 0;
        for (int col = 0; col < cols; col++) {
            const int tile = board[row * cols + col];
            if (tile != 0 && (tile - 1) / cols == row) place[count++] = (tile - 1) % cols;
        }
        total += 2 * leavers(place, count);
    }
    for (int col = 0; col < cols; col++) {
        int count = 0;
        for (int row = 0; row < rows; row++) {
            const int tile = board[row * cols + col];
            if (tile != 0 && (tile - 1) % cols == col) place[count++] = (tile - 1) / cols;
        }
        total += 2 * leavers(place, count);
    }
    return total;
}

// What looking a board up in a table of all arrangements takes: its rank, by counting, and one read.
static int look_up(const int* board, int cells, const std::vector<std::int8_t>& table) {
    std::uint32_t rank = 0;
    for (int i = 0; i < cells; i++) {
        int smaller = 0;
        for (int j = i + 1; j < cells; j++) smaller += board[j] < board[i];
        rank = rank * static_cast<std::uint32_t>(cells - i) + static_cast<std::uint32_t>(smaller);
    }
    return table[rank];
}

int main(int, char** arguments) {
    const std::string task = arguments[1];
    const int rows = std::atoi(arguments[2]);
    const int cols = std::atoi(arguments[3]);
    const int cells = rows * cols;
    const std::size_t boards = std::stoull(arguments[4]);
    std::mt19937_64 random(20240229);
    std::vector<int> cell(boards * static_cast<std::size_t>(cells));
    for (std::size_t i = 0; i < boards; i++) shuffle(&cell[i * cells], rows, cols, random);
    std::vector<std::int8_t> table(task == "table" ? 362880 : 0, 1);
    std::string line;
    while (std::getline(std::cin, line)) {
        const std::clock_t start = std::clock();
        long sum = 0;
        for (std::size_t i = 0; i < boards; i++) {
            int* board = &cell[i * cells];
            if (task == "shuffle") {
                shuffle(board, rows, cols, random);
                sum += board[0];
            } else if (task == "distance") {
                sum += distance(board, rows, cols);
            } else {
                sum += look_up(board, cells, table);
            }
        }
        const double took = 1e9 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
        std::printf("%f %ld\n", took / static_cast<double>(boards), sum);
        std::fflush(stdout);
    }
}
