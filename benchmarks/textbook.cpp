// The anchor of the benchmark: the solvability check as textbooks print it, on ints, one board after the other.
//
//     textbook ROWS COLS < pipe
//
// First the boards come in, as a line with their number and then one byte a cell. After that each line on stdin times
// one round over all of them, which is answered by a line: nanoseconds a board, and how many can be solved.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
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

int main(int, char** arguments) {
    const int rows = std::atoi(arguments[1]);
    const int cols = std::atoi(arguments[2]);
    const std::size_t cells = static_cast<std::size_t>(rows) * cols;
    std::string line;
    std::getline(std::cin, line);
    const std::size_t boards = std::stoull(line);
    std::vector<char> bytes(boards * cells);
    std::cin.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    std::vector<int> cell(bytes.size());
    for (std::size_t i = 0; i < cell.size(); i++) cell[i] = static_cast<unsigned char>(bytes[i]);
    while (std::getline(std::cin, line)) {
        const auto start = std::chrono::steady_clock::now();
        std::size_t count = 0;
        for (std::size_t i = 0; i < boards; i++) count += solvable(&cell[i * cells], rows, cols);
        const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
        std::printf("%f %zu\n", took.count() / static_cast<double>(boards), count);
        std::fflush(stdout);
    }
}
