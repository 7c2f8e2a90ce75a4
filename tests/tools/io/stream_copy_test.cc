#include "tools/io/stream_copy.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <numeric>
#include <random>

#include <restride/measurements.hpp>

#include "tests/tools/io/support.h"
#include "tools/io/array_entry.h"
#include "tools/io/box.h"

namespace restride::io {
namespace {

// Element e of the file holds the number e, so an output tells where each of its elements came from.
std::string numbered(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), 0u);
  return std::string(reinterpret_cast<const char*>(values.data()), 4 * count);
}

std::vector<std::uint32_t> expected(const Layout& dst, const Layout& src) {
  std::vector<std::uint32_t> out(static_cast<std::size_t>(dst.elements()));
  split_box(
      whole(src), slowest_first(src),
      [](const Box& b) {
        return std::accumulate(b.extent.begin(), b.extent.end(), std::uint64_t{1},
                               [](std::uint64_t a, std::int64_t e) { return a * static_cast<std::uint64_t>(e); });
      },
      1,
      [&](const Box& one) {
        out[static_cast<std::size_t>(restrict_to(dst, one).offset_bytes / 4)] =
            static_cast<std::uint32_t>(restrict_to(src, one).offset_bytes / 4);
      });
  return out;
}

TEST(StreamCopy, GivesTheSameBytesWhateverTheBufferHolds) {
  TemporaryFolder folder;
  const std::string path = folder / "in";
  const std::int64_t rows = 700, columns = 1100;
  write_file(path, numbered(static_cast<std::size_t>(rows * columns)));
  const InputFile file(path);
  const Layout matrix = contiguous(DType::kU32, {rows, columns});
  const Layout sources[] = {matrix, permute(matrix, {1, 0}), flip(permute(matrix, {1, 0}), 0),
                            slice(matrix, 1, std::nullopt, std::nullopt, -7),
                            permute(split(matrix, 0, std::vector<std::int64_t>{7, 100}), {2, 0, 1})};
  for (const Layout& src : sources) {
    std::vector<std::int64_t> extents;
    for (const Mode& m : src.modes) extents.push_back(m.extent);
    for (const bool fortran : {false, true}) {
      const Layout dst = dense(DType::kU32, extents, fortran);
      const std::vector<std::uint32_t> want = expected(dst, src);
      for (const std::uint64_t mib : {1, 2, 64}) {
        std::vector<std::uint32_t> got(want.size());
        std::uint64_t next = 0;
        StreamOptions options;
        options.buffer_bytes = mib << 20;
        const StreamReport report = stream_copy(
            file, src, 0, dst,
            [&](std::uint64_t offset, Bytes bytes) {
              EXPECT_EQ(offset, next);
              next += bytes.size();
              std::memcpy(reinterpret_cast<char*>(got.data()) + offset, bytes.data(), bytes.size());
            },
            options);
        EXPECT_EQ(got, want) << to_string(dst) << " from " << to_string(src) << " through " << mib << " MiB";
        EXPECT_EQ(report.pieces > 1, static_cast<std::uint64_t>(dst.bytes()) > options.buffer_bytes);
      }
    }
  }
}

TEST(StreamCopy, SwapsBigEndianWords) {
  TemporaryFolder folder;
  const std::string path = folder / "in";
  write_file(path, std::string("\0\0\0\1\0\0\1\0", 8));
  const InputFile file(path);
  const Layout two = contiguous(DType::kU32, {2});
  const auto run = [&](const Layout& dst) {
    std::string out;
    stream_copy(file, two, 4, dst, [&](std::uint64_t, Bytes bytes) { out.append(bytes.begin(), bytes.end()); }, {});
    return out;
  };
  EXPECT_EQ(run(two), le(1, 4) + le(256, 4));
  EXPECT_EQ(run(contiguous(DType::kU16, {2})), le(1, 2) + le(256, 2)) << "words are swapped before they are converted";
}

TEST(StreamCopy, StagesNoMoreThanABufferHoldsWhereACastNarrows) {
  TemporaryFolder folder;
  const std::string path = folder / "in";
  constexpr std::int64_t kCount = 600'000;
  std::string words(8 * kCount, '\0');
  for (std::size_t i = 0; i < kCount; ++i) words[8 * i + 7] = static_cast<char>(i % 251);  // the lowest byte
  write_file(path, words);
  StreamOptions options;
  options.buffer_bytes = 1 << 20;
  std::string out;
  const StreamReport report = stream_copy(
      InputFile(path), contiguous(DType::kU64, {kCount}), 8, contiguous(DType::kU8, {kCount}),
      [&](std::uint64_t, Bytes bytes) { out.append(bytes.begin(), bytes.end()); }, options);
  EXPECT_EQ(report.pieces, 5u);  // 8 bytes of input an element
  ASSERT_EQ(out.size(), static_cast<std::size_t>(kCount));
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(out[i], static_cast<char>(i % 251)) << i;
}

TEST(StreamCopy, TakesInputOfABufferAtATimeHoweverSmallTheOutputIs) {
  TemporaryFolder folder;
  const std::string path = folder / "in";
  const Layout matrix = contiguous(DType::kU32, {1024, 1024});
  write_file(path, numbered(1024 * 1024));
  for (const Layout& src : {permute(matrix, {1, 0}), slice(matrix, 1, std::nullopt, std::nullopt, 512)}) {
    const std::int64_t extents[] = {src.modes[0].extent, src.modes[1].extent};
    Measurements parts;  // one record for every layout that is copied
    StreamOptions options;
    options.copy.measure = true;
    options.copy.measurements = &parts;
    stream_copy(
        InputFile(path), src, 0, contiguous(DType::kU32, extents), [](std::uint64_t, Bytes) {}, options);
    EXPECT_EQ(parts.size(), 1u) << parts.to_json();
  }
}

TEST(StreamCopy, RefusesAFileThatIsWrittenToMeanwhile) {
  TemporaryFolder folder;
  const std::string path = folder / "in";
  const Layout bytes = contiguous(DType::kU8, {5000});
  const auto message_when = [&](const std::function<void()>& meanwhile) {
    write_file(path, std::string(5000, 'x'));
    const InputFile file(path);
    return message_of<IoError>(
        [&] { stream_copy(file, bytes, 0, bytes, [&](std::uint64_t, Bytes) { meanwhile(); }, {}); });
  };
  // Less than a page: the end of the last one reads as zeros, and no signal tells.
  const std::string shrunk = message_when([&] { std::filesystem::resize_file(path, 4999); });
  EXPECT_NE(shrunk.find("in was written to while it was read (it had 5000 bytes and has 4999)"), std::string::npos)
      << shrunk;
  EXPECT_NE(message_when([&] { std::filesystem::resize_file(path, 5001); }).find("has 5001"), std::string::npos);
  const std::string rewritten = message_when([&] {
    std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
  });
  EXPECT_NE(rewritten.find("was written to while it was read, so nothing"), std::string::npos) << rewritten;
}

TEST(StreamCopy, SaysThatAFileCannotBeMappedBeforeAnythingIsWritten) {
  const char* const path = "/sys/devices/system/cpu/online";  // a regular file of 4096 bytes, as far as sizes tell
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no sysfs here, whose files nobody maps";
  const Layout one = contiguous(DType::kU8, {1});
  const std::string message = message_of<IoError>(
      [&] { stream_copy(InputFile(path), one, 0, one, [](std::uint64_t, Bytes) { ADD_FAILURE(); }, {}); });
  EXPECT_NE(message.find("cannot map"), std::string::npos) << message;
}

TEST(StreamCopy, WritesNothingForEmptyTensors) {
  TemporaryFolder folder;
  const std::string path = folder / "in";
  write_file(path, "");
  const Layout none = contiguous(DType::kF32, {3, 0});
  const StreamReport report =
      stream_copy(InputFile(path), none, 0, none, [](std::uint64_t, Bytes) { ADD_FAILURE(); }, {});
  EXPECT_EQ(report.pieces, 0u);
}

}  // namespace
}  // namespace restride::io
