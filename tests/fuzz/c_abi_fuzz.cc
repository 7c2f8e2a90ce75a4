// Random tensors through the C ABI: whatever the bytes describe, every call answers with a status and touches
// only what the layouts say. Memory is allocated to exactly the bytes that restride_byte_range names, so ASan
// sees one byte too many; the source must come out unchanged.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include <restride/restride.h>

#include "src/plan/decision.h"

namespace {

constexpr std::int64_t kMaxBytes = 1 << 16;

// Takes values off the front of the input; zero when it is used up.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  std::uint8_t byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  std::int64_t integer() {  // mostly small; now and then any 64-bit value
    const std::uint8_t kind = byte();
    if (kind < 224) return static_cast<std::int8_t>(byte());
    std::uint64_t v = 0;
    for (int i = 0; i < (kind < 240 ? 3 : 8); ++i) v = v << 8 | byte();
    return static_cast<std::int64_t>(v);
  }
  std::string rest() { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

struct Described {
  std::vector<std::int64_t> extents, strides;
  restride_tensor tensor = RESTRIDE_TENSOR_INIT;

  explicit Described(Input& in) {
    tensor.rank = static_cast<std::int32_t>(in.byte() % 8);
    for (int i = 0; i < tensor.rank; ++i) {
      const std::uint8_t extent = in.byte();
      extents.push_back(extent < 250 ? extent % 9 : in.integer());
      strides.push_back(in.integer());
    }
    tensor.extents = extents.data();
    tensor.strides_bytes = in.byte() % 3 == 0 ? nullptr : strides.data();
    tensor.dtype = in.byte() % 20 - 1;  // -1 and 18 are no dtypes
    tensor.element_bytes = tensor.dtype == RESTRIDE_BYTES ? in.byte() % 33 : 0;
    tensor.offset_bytes = in.byte() < 200 ? 0 : in.integer();
    if (in.byte() > 250) tensor.rank = static_cast<std::int32_t>(in.integer()) | 1 << 16;  // never valid
    if (in.byte() > 250) tensor.struct_size = in.byte();
  }
};

// Exactly the bytes [first, last) of a tensor, with `data` pointing where their offsets count from.
struct Memory {
  std::int64_t first = 0, last = 0;
  char* bytes = nullptr;

  bool allocate(restride_tensor& t, std::uint8_t fill) {
    if (restride_byte_range(&t, &first, &last) != RESTRIDE_OK || last - first > kMaxBytes) return false;
    // One byte where there is none to touch, so that the pointer is not NULL.
    bytes = static_cast<char*>(std::malloc(static_cast<std::size_t>(std::max<std::int64_t>(last - first, 1))));
    std::memset(bytes, fill, static_cast<std::size_t>(last - first));
    t.data = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(bytes) - static_cast<std::uintptr_t>(first));
    return true;
  }
  ~Memory() { std::free(bytes); }
};

void check(bool holds) {
  if (!holds) std::abort();
}

void print(const restride_tensor& t) {
  std::size_t length = 0;
  if (restride_layout_print(&t, nullptr, 0, &length) != RESTRIDE_OK) return;
  std::string text(length + 1, '\0');
  check(restride_layout_print(&t, text.data(), text.size(), nullptr) == RESTRIDE_OK);
  // What is printed is read back to the same layout.
  std::int64_t extents[64], strides[64];
  restride_tensor again = RESTRIDE_TENSOR_INIT;
  check(restride_layout_parse(text.c_str(), &again, extents, strides, 64) == RESTRIDE_OK);
  check(again.rank == t.rank && std::equal(extents, extents + t.rank, t.extents));
}

// Every view of a tensor is refused, or lies inside of it.
void see(const restride_tensor& t, Input& in) {
  std::int64_t first = 0, last = 0;
  const bool valid = restride_byte_range(&t, &first, &last) == RESTRIDE_OK;
  restride_view v = RESTRIDE_VIEW_INIT;
  std::int64_t list[4];
  for (std::int64_t& value : list) value = in.integer();
  const std::int32_t count = in.byte() % 6 - 1;  // 4 at most
  const std::string slices = std::to_string(list[0]) + ":" + std::to_string(list[1]) + ":" + std::to_string(list[2]);
  const auto inside = [&](restride_status status) {
    check(status != RESTRIDE_INTERNAL && (valid || status != RESTRIDE_OK));
    std::int64_t from = 0, to = 0;
    if (status == RESTRIDE_OK)
      check(restride_byte_range(&v.tensor, &from, &to) == RESTRIDE_OK && (from == to || (from >= first && to <= last)));
  };
  inside(restride_permute(&v, &t, list, count));
  inside(restride_slice(&v, &t, slices.c_str()));
  inside(restride_flip(&v, &t, static_cast<std::int32_t>(list[3])));
  inside(restride_reshape(&v, &t, list, count));
  if (restride_broadcast(&v, &t, list, count) == RESTRIDE_OK) print(v.tensor);
}

void plan_and_run(const restride_tensor& dst, const restride_tensor& src, const restride_options& options) {
  restride_plan* plan = nullptr;
  if (restride_plan_create(&plan, &dst, &src, &options) != RESTRIDE_OK) {
    check(plan == nullptr && restride_last_error()[0] != '\0');
    return;
  }
  char text[512];
  std::size_t length = 0;
  check(restride_plan_explain(plan, text, sizeof text, &length) == RESTRIDE_OK);
  check(restride_plan_run(plan, dst.data, src.data, nullptr) == RESTRIDE_OK);
  restride_plan_destroy(plan);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  if (in.byte() == 255) {  // the two parsers, on text
    const std::string text = in.rest();
    std::int64_t extents[64], strides[64];
    restride_tensor t = RESTRIDE_TENSOR_INIT;
    if (restride_layout_parse(text.c_str(), &t, extents, strides, 64) == RESTRIDE_OK) print(t);
    restride_plan* plan = nullptr;
    if (restride_plan_deserialize(&plan, text.c_str()) == RESTRIDE_OK) restride_plan_destroy(plan);
    return 0;
  }
  Described dst(in), src(in);
  restride_options options = RESTRIDE_OPTIONS_INIT;
  options.threads = in.byte() % 4 - 1;
  options.reshape = options.threads != 2;
  static const char* const kFamilies[] = {nullptr, nullptr, "none",
#define RESTRIDE_X(e, n) n,
                                          RESTRIDE_FAMILIES(RESTRIDE_X)
#undef RESTRIDE_X
  };
  options.family = kFamilies[in.byte() % std::size(kFamilies)];

  print(dst.tensor);
  print(src.tensor);
  see(src.tensor, in);
  Memory to, from;
  if (!to.allocate(dst.tensor, 0xA5) || !from.allocate(src.tensor, in.byte())) {
    // No memory to run on; the calls must still answer.
    dst.tensor.data = src.tensor.data = nullptr;
    restride_plan* plan = nullptr;
    if (restride_plan_create(&plan, &dst.tensor, &src.tensor, &options) == RESTRIDE_OK) restride_plan_destroy(plan);
    return 0;
  }
  for (std::int64_t i = 0; i < from.last - from.first; ++i) from.bytes[i] = static_cast<char>(from.bytes[i] + i * 37);
  const std::string before(from.bytes, static_cast<std::size_t>(from.last - from.first));
  const restride_status status = restride_copy(&dst.tensor, &src.tensor, &options);
  check(status == RESTRIDE_OK || restride_last_error()[0] != '\0');
  check(status != RESTRIDE_INTERNAL);
  if (status == RESTRIDE_OK) plan_and_run(dst.tensor, src.tensor, options);
  check(before == std::string(from.bytes, before.size()));
  return 0;
}
