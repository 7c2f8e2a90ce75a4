// Where ranks of one host meet: memory that all of them have mapped. A meeting takes the time of some cache lines,
// where one by NCCL's messages takes a hundred microseconds.
//
// Every rank has two notes and a number, that of its last meeting. It writes the note of meeting n to place n % 2, and
// then the number. A rank writes note n + 2 after meeting n + 1, to which all ranks come after they have read note n.
// The memory has no name in a file system, so nothing of it is left behind, however a process ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace restride::distributed {

/// What every rank gets from every other in a meeting, whatever they call.
struct Note {
  static constexpr std::uint32_t kMagic = 0x524e4f54;
  std::uint32_t magic = kMagic;
  std::uint32_t gave_up = 0;
  std::int64_t bytes = 0;  ///< gathered from a rank; they lie in `text` if they fit, else they follow
  char text[496] = {};
};
static_assert(sizeof(Note) == 512);

class Board {
 public:
  /// Brings every rank's bytes to all ranks.
  using Gather = std::function<void(const void* mine, void* all, std::int64_t bytes)>;
  /// Collective; `host` is this rank's. Null on all ranks: they are not on one host, or some cannot map the memory.
  static std::unique_ptr<Board> open(int rank, int ranks, std::uint64_t host, const Gather& gather);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  /// This rank comes to the next meeting.
  void post(const Note& note) noexcept;
  /// Whether a rank has come to it, too.
  bool has_come(int rank) const noexcept;
  /// Of the meeting, when all have come.
  const Note& note_of(int rank) const noexcept;

  /// This rank comes to no meeting any more.
  void say_farewell(const std::string& why) noexcept;
  /// Why some other rank has said farewell; empty: none has.
  std::string farewell() const;

 private:
  struct Place;
  Board(int rank, int ranks, void* memory, std::size_t bytes);
  Place& place(int rank) const noexcept;

  int rank_, ranks_;
  void* memory_;
  std::size_t bytes_;
  std::uint64_t meeting_ = 0;
};

}  // namespace restride::distributed
