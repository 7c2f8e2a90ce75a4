// Exchanges between ranks of MPI beside what people write by hand, in turns, in one launch:
//
//     mpirun -np 2 build/dev/bin/exchange_mpi_openmpi [--json FILE] [--seconds 1] [--only LAYOUT]
//
// By hand: MPI_Alltoallv of blocks that loops of memcpy pack and unpack, where a block is not one run already, and
// MPI_Alltoallw of subarrays (vectors where axes change their order). Ours: the method that kAuto takes, with and
// without the check before each run, and every method by name. A time is the slowest rank's, the median over rounds, in
// each of which the ways take turns in another order.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <restride/distributed.hpp>

using namespace restride;
using namespace restride::distributed;

namespace {

constexpr int kAxes = 3;
using Sizes = std::array<std::int64_t, kAxes>;

struct Case {
  const char* name;
  Sizes shape;
  DType dtype;
  int before, after;  ///< the axis that is split
  bool turned;        ///< the target lies with its first two axes in the other order
};

constexpr Case kCases[] = {
    {"rows to columns, 24 MB", {2003, 1501, 1}, DType::kF64, 0, 1, false},
    {"rows to columns, 96 MB", {4003, 3001, 1}, DType::kF64, 0, 1, false},
    {"columns to rows, 24 MB", {2003, 1501, 1}, DType::kF64, 1, 0, false},
    {"transpose, 24 MB", {2003, 1501, 1}, DType::kF64, 0, 1, true},
    {"FFT pencils, 12 MB", {128, 160, 144}, DType::kF32, 0, 1, false},
    {"sequence to heads, 8 MB", {1024, 32, 128}, DType::kBF16, 0, 1, false},
    {"heads to sequence, 8 MB", {1024, 32, 128}, DType::kBF16, 1, 0, false},
    {"rows to columns, 256 KB", {256, 256, 1}, DType::kF32, 0, 1, false},
    {"rows to columns, 16 KB", {64, 64, 1}, DType::kF32, 0, 1, false},
};

/// A box of a local array: where it begins, its sizes, all in elements of memory that lies by `strides`.
struct Block {
  std::int64_t offset = 0;
  Sizes sizes{}, strides{};
  std::int64_t elements() const { return sizes[0] * sizes[1] * sizes[2]; }
  bool one_run() const {
    std::int64_t run = 1;
    for (int a = kAxes; a-- > 0;) {
      if (sizes[a] != 1 && strides[a] != run) return false;
      run *= sizes[a];
    }
    return true;
  }
};

/// One rank's half of an exchange by hand.
struct Half {
  std::vector<Block> blocks;         ///< a rank's, in the order of the array's axes
  std::vector<int> counts, offsets;  ///< bytes, of alltoallv
  bool in_place = true;              ///< every block is one run: alltoallv takes it where it lies
  std::vector<MPI_Datatype> types;
};

struct Hand {
  int ranks, element;
  Half out, in;
  std::vector<char> send, receive;
  std::vector<int> ones_out, ones_in, zeros;
};

std::int64_t cut(std::int64_t extent, int parts, int i) {
  return extent / parts * i + std::min<std::int64_t>(i, extent % parts);
}

/// Copies a block into dense memory or out of it. `pack`: into.
template <class T>
void copy_block(const Block& b, T* array, T* dense, bool pack) {
  T* at = array + b.offset;
  if (b.strides[2] == 1 && b.strides[1] >= b.sizes[2] && b.strides[0] >= b.strides[1]) {
    // Runs as long as they are.
    const bool joined = b.strides[1] == b.sizes[2];
    const std::int64_t run = joined ? b.sizes[1] * b.sizes[2] : b.sizes[2];
    for (std::int64_t i = 0; i < b.sizes[0]; ++i)
      for (std::int64_t j = 0; j < (joined ? 1 : b.sizes[1]); ++j, dense += run) {
        T* there = at + i * b.strides[0] + j * b.strides[1];
        if (pack)
          std::memcpy(dense, there, static_cast<std::size_t>(run) * sizeof(T));
        else
          std::memcpy(there, dense, static_cast<std::size_t>(run) * sizeof(T));
      }
    return;
  }
  // The axes change their order: tiles, so that lines of both sides are used while they are in a cache.
  constexpr std::int64_t kTile = 16;
  for (std::int64_t i0 = 0; i0 < b.sizes[0]; i0 += kTile)
    for (std::int64_t j0 = 0; j0 < b.sizes[1]; j0 += kTile)
      for (std::int64_t i = i0; i < std::min(i0 + kTile, b.sizes[0]); ++i)
        for (std::int64_t j = j0; j < std::min(j0 + kTile, b.sizes[1]); ++j)
          for (std::int64_t k = 0; k < b.sizes[2]; ++k) {
            T& there = at[i * b.strides[0] + j * b.strides[1] + k * b.strides[2]];
            T& here = dense[(i * b.sizes[1] + j) * b.sizes[2] + k];
            if (pack)
              here = there;
            else
              there = here;
          }
}

void copy_block(int element, const Block& b, char* array, char* dense, bool pack) {
  const auto as = [&](auto t) {
    using T = decltype(t);
    copy_block(b, reinterpret_cast<T*>(array), reinterpret_cast<T*>(dense), pack);
  };
  if (element == 2) as(std::uint16_t{});
  if (element == 4) as(std::uint32_t{});
  if (element == 8) as(std::uint64_t{});
}

MPI_Datatype type_of(const Block& b, int element) {
  MPI_Datatype type = element == 2 ? MPI_UINT16_T : element == 4 ? MPI_FLOAT : MPI_DOUBLE, made = MPI_DATATYPE_NULL;
  std::int64_t run = 1;
  int a = kAxes;
  for (; a > 0 && (b.sizes[a - 1] == 1 || b.strides[a - 1] == run); --a) run *= b.sizes[a - 1];
  MPI_Type_contiguous(static_cast<int>(run), type, &type);
  for (; a-- > 0; type = made)
    MPI_Type_create_hvector(static_cast<int>(b.sizes[a]), 1, b.strides[a] * element, type, &made);
  MPI_Aint offset = b.offset * element;
  const int one = 1;
  MPI_Type_create_hindexed(1, &one, &offset, type, &made);
  MPI_Type_commit(&made);
  return made;
}

/// `mine`: the sizes of this rank's array; `split`: the axis along which a block for every rank is cut.
Half half_of(const Sizes& mine, const Sizes& strides, int split, std::int64_t extent, int ranks, int element) {
  Half h;
  std::int64_t at = 0;
  for (int r = 0; r < ranks; ++r) {
    Block b{cut(extent, ranks, r) * strides[split], mine, strides};
    b.sizes[split] = cut(extent, ranks, r + 1) - cut(extent, ranks, r);
    h.in_place = h.in_place && b.one_run();
    h.counts.push_back(static_cast<int>(b.elements() * element));
    h.offsets.push_back(static_cast<int>(at));
    at += h.counts.back();
    h.types.push_back(type_of(b, element));
    h.blocks.push_back(b);
  }
  if (h.in_place)
    for (std::size_t r = 0; r < h.blocks.size(); ++r) h.offsets[r] = static_cast<int>(h.blocks[r].offset * element);
  return h;
}

void by_alltoallv(Hand& h, char* dst, char* src) {
  char *from = h.out.in_place ? src : h.send.data(), *to = h.in.in_place ? dst : h.receive.data();
  for (std::size_t r = 0; !h.out.in_place && r < h.out.blocks.size(); ++r)
    copy_block(h.element, h.out.blocks[r], src, from + h.out.offsets[r], true);
  MPI_Alltoallv(from, h.out.counts.data(), h.out.offsets.data(), MPI_BYTE, to, h.in.counts.data(), h.in.offsets.data(),
                MPI_BYTE, MPI_COMM_WORLD);
  for (std::size_t r = 0; !h.in.in_place && r < h.in.blocks.size(); ++r)
    copy_block(h.element, h.in.blocks[r], dst, to + h.in.offsets[r], false);
}

void by_alltoallw(Hand& h, char* dst, char* src) {
  MPI_Alltoallw(src, h.ones_out.data(), h.zeros.data(), h.out.types.data(), dst, h.ones_in.data(), h.zeros.data(),
                h.in.types.data(), MPI_COMM_WORLD);
}

std::string distribution(const Case& c, int split, int ranks, bool turned) {
  std::ostringstream text;
  text << '(' << c.shape[0] << ',' << c.shape[1] << ',' << c.shape[2] << ") as (";
  for (int a = 0; a < kAxes; ++a) text << (a > 0 ? "," : "") << (a == split ? "block[0]" : "*");
  text << ") over (" << ranks << ')' << (turned ? " order (1,0,2)" : "");
  return text.str();
}

struct Way {
  std::string name;
  std::function<void(char*, char*)> run;
  std::vector<double> us = {};
};

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

void stop(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/// A line of JSON.
std::string measure(const Case& c, Comm& comm, double seconds) {
  const int ranks = comm.size(), me = comm.rank();
  const int element = static_cast<int>(size_bytes(c.dtype));
  const Side src{parse_distribution(distribution(c, c.before, ranks, false)), c.dtype, {}};
  const Side dst{parse_distribution(distribution(c, c.after, ranks, c.turned)), c.dtype, {}};

  const auto strides_of = [](const Sizes& s, bool turned) {
    return turned ? Sizes{s[2], s[0] * s[2], 1} : Sizes{s[1] * s[2], s[2], 1};
  };
  Sizes mine = c.shape, wanted = c.shape;
  mine[static_cast<std::size_t>(c.before)] = cut(c.shape[static_cast<std::size_t>(c.before)], ranks, me + 1) -
                                             cut(c.shape[static_cast<std::size_t>(c.before)], ranks, me);
  wanted[static_cast<std::size_t>(c.after)] = cut(c.shape[static_cast<std::size_t>(c.after)], ranks, me + 1) -
                                              cut(c.shape[static_cast<std::size_t>(c.after)], ranks, me);
  const auto bytes_of = [&](const Sizes& s) { return static_cast<std::size_t>(s[0] * s[1] * s[2] * element); };
  Hand hand{ranks,
            element,
            half_of(mine, strides_of(mine, false), c.after, c.shape[static_cast<std::size_t>(c.after)], ranks, element),
            half_of(wanted, strides_of(wanted, c.turned), c.before, c.shape[static_cast<std::size_t>(c.before)], ranks,
                    element),
            std::vector<char>(bytes_of(mine)),
            std::vector<char>(bytes_of(wanted)),
            std::vector<int>(static_cast<std::size_t>(ranks), 1),
            std::vector<int>(static_cast<std::size_t>(ranks), 1),
            std::vector<int>(static_cast<std::size_t>(ranks), 0)};
  if (c.turned) hand.in.in_place = false;  // one run, but of the other order

  std::vector<char> in(bytes_of(mine)), out(bytes_of(wanted)), right;
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<char>((i * 2654435761u + static_cast<unsigned>(me)) >> 7);

  std::vector<distributed::Plan> plans;
  plans.reserve(8);
  std::vector<Way> ways;
  ways.push_back({"hand alltoallv", [&](char* d, char* s) { by_alltoallv(hand, d, s); }});
  ways.push_back({"hand alltoallw", [&](char* d, char* s) { by_alltoallw(hand, d, s); }});
  const auto add = [&](const char* name, Method method, bool check_runs, std::int64_t most_workspace_bytes = 0) {
    ExchangeOptions options;
    options.deadline = std::chrono::seconds(60);
    options.method = method;
    options.check_runs = check_runs;
    options.most_workspace_bytes = most_workspace_bytes;
    distributed::Plan& made = plans.emplace_back(distributed::plan(src, dst, comm, options));
    ways.push_back({name, [&made](char* d, char* s) { made.run(d, s); }});
  };
  add("auto", Method::kAuto, true);
  add("auto unchecked", Method::kAuto, false);
  add("messages", Method::kMessages, false);
  add("messages in 1 MiB", Method::kMessages, false, 1 << 20);
  add("alltoallv", Method::kAlltoallv, false);
  add("alltoallw", Method::kAlltoallw, false);

  for (Way& way : ways) {
    std::fill(out.begin(), out.end(), char{0});
    way.run(out.data(), in.data());
    if (right.empty()) right = out;
    if (out != right) stop(std::string(c.name) + ": " + way.name + " gives other bytes than " + ways[0].name);
  }
  const double end = MPI_Wtime() + seconds;
  std::mt19937 order(1);  // the same on all ranks; every way comes behind every other
  std::vector<std::size_t> turn(ways.size());
  std::iota(turn.begin(), turn.end(), std::size_t{0});
  for (int more = 1, rounds = 0; more != 0; ++rounds) {
    std::shuffle(turn.begin(), turn.end(), order);
    for (const std::size_t i : turn) {
      Way& way = ways[i];
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      way.run(out.data(), in.data());
      double took = (MPI_Wtime() - begin) * 1e6, slowest = 0;
      MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      way.us.push_back(slowest);
    }
    more = MPI_Wtime() < end || rounds < 6 ? 1 : 0;
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  for (Half* h : {&hand.out, &hand.in})
    for (MPI_Datatype& t : h->types) MPI_Type_free(&t);
  std::string text =
      std::string("  \"") + c.name + "\": {\"auto takes\": \"" + std::string(name(plans[0].method())) + "\"";
  if (me == 0) std::printf("%-26s (auto: %s)", c.name, std::string(name(plans[0].method())).c_str());
  for (Way& way : ways) {
    char us[32];
    std::snprintf(us, sizeof us, "%.1f", median(way.us));
    text += ", \"" + way.name + "\": " + us;
    if (me == 0) std::printf("  %s %s", way.name.c_str(), us);
  }
  if (me == 0) std::printf("\n"), std::fflush(stdout);
  return text + "}";
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
  return "unknown";
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::string json, only;
  double seconds = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--json") json = argv[i + 1];
    if (option == "--only") only = argv[i + 1];
    if (option == "--seconds") seconds = std::atof(argv[i + 1]);
  }
  MPI_Comm world = MPI_COMM_WORLD;
  try {
    auto comm = mpi(&world);
    std::string text;
    for (const Case& c : kCases) {
      if (!only.empty() && only != c.name) continue;
      text += (text.empty() ? "" : ",\n") + measure(c, *comm, seconds);
    }
    if (comm->rank() == 0 && !json.empty()) {
      char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
      int length = 0;
      MPI_Get_library_version(version, &length);
      std::string mpi_version(version, static_cast<std::size_t>(length));
      mpi_version = mpi_version.substr(0, mpi_version.find_first_of(",\n"));
      std::replace(mpi_version.begin(), mpi_version.end(), '\t', ' ');
      std::ofstream(json) << "{\n \"cpu\": \"" << cpu_model() << "\",\n \"ranks\": " << comm->size()
                          << ",\n \"mpi\": \"" << mpi_version << "\",\n \"us\": {\n"
                          << text << "\n }\n}\n";
    }
  } catch (const std::exception& e) {
    stop(e.what());
  }
  MPI_Finalize();
}
