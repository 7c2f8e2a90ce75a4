// Exchanges on GPUs of one host beside NCCL's all-to-all, in turns, in one process:
//
//     NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1 NVSHMEM_DISABLE_NVLS=1
//       build/dev/bin/exchange_nccl [--json FILE] [--mib 256] [--gpus N] [--seconds 1]
//
// A thread and a GPU a rank. NCCL sends every rank an equal block of a contiguous buffer, as many bytes in all as the
// exchange moves between ranks, and permutes nothing; its copy-engine path, from windows of ncclMemAlloc, stands beside
// it. Ours permutes on the way: fused and staged, checked and unchecked, and fused without NCCL. A time is the
// stream's, from a start that all ranks have met at to the slowest rank's end: the median over rounds. Exit status: 77
// with fewer than two GPUs.
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <barrier>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <restride/distributed.hpp>

#include "tests/distributed/multicast.h"

using namespace restride;
using namespace restride::distributed;

namespace {

void require(cudaError_t code, const char* call) {
  if (code != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(code));
}
void require(ncclResult_t code, const char* call) {
  if (code != ncclSuccess) throw std::runtime_error(std::string(call) + ": " + ncclGetErrorString(code));
}
#define REQUIRE(call) require((call), #call)

struct Case {
  std::string name, src, dst;
  DType dtype;
};

/// Tensors of about `mib` MiB a rank; the outermost axis of the target's memory changes.
std::vector<Case> cases(int ranks, std::int64_t mib) {
  const std::int64_t elements = mib * ranks << 18;  // of 4 bytes
  const auto root = [](std::int64_t n) {
    std::int64_t r = 1;
    while ((r + 64) * (r + 64) <= n) r += 64;
    return r;
  };
  const std::string over = " over (" + std::to_string(ranks) + ")", n = std::to_string(root(elements)),
                    bf = std::to_string(root(2 * elements)), odd = std::to_string(root(elements) - 61),
                    odder = std::to_string(root(elements) - 23), depth = std::to_string(elements / (512 * 768)),
                    tokens = std::to_string(2 * elements / (32 * 128));
  const auto shape = [](const std::string& a, const std::string& b, const std::string& c = "") {
    return "(" + a + "," + b + (c.empty() ? "" : "," + c) + ") as ";
  };
  return {
      {"2-D transpose f32", shape(n, n) + "(block[0],*)" + over, shape(n, n) + "(*,block[0])" + over + " order (1,0)",
       DType::kF32},
      {"2-D transpose bf16", shape(bf, bf) + "(block[0],*)" + over,
       shape(bf, bf) + "(*,block[0])" + over + " order (1,0)", DType::kBF16},
      {"3-D axis swap f32", shape(depth, "512", "768") + "(block[0],*,*)" + over,
       shape(depth, "512", "768") + "(*,block[0],*)" + over + " order (1,0,2)", DType::kF32},
      {"3-D pencils f32", shape(depth, "512", "768") + "(block[0],*,*)" + over,
       shape(depth, "512", "768") + "(*,*,block[0])" + over + " order (2,0,1)", DType::kF32},
      {"sequence to heads bf16", shape(tokens, "32", "128") + "(block[0],*,*)" + over,
       shape(tokens, "32", "128") + "(*,block[0],*)" + over + " order (1,0,2)", DType::kBF16},
      {"heads to sequence bf16", shape(tokens, "32", "128") + "(*,block[0],*)" + over + " order (1,0,2)",
       shape(tokens, "32", "128") + "(block[0],*,*)" + over, DType::kBF16},
      {"uneven f32", shape(odd, odder) + "(block[0],*)" + over,
       shape(odd, odder) + "(*,block[0])" + over + " order (1,0)", DType::kF32},
      {"rows to columns f32", shape(n, n) + "(block[0],*)" + over, shape(n, n) + "(*,block[0])" + over, DType::kF32},
  };
}

/// Memory of a GPU, of cudaMalloc or of ncclMemAlloc.
class Buffer {
 public:
  explicit Buffer(std::int64_t bytes, bool of_nccl = false) : of_nccl_(of_nccl) {
    if (of_nccl)
      REQUIRE(ncclMemAlloc(&data_, static_cast<std::size_t>(bytes)));
    else
      REQUIRE(cudaMalloc(&data_, static_cast<std::size_t>(bytes)));
    REQUIRE(cudaMemset(data_, 1, static_cast<std::size_t>(bytes)));
  }
  Buffer(const Buffer&) = delete;
  ~Buffer() { static_cast<void>(of_nccl_ ? static_cast<int>(ncclMemFree(data_)) : static_cast<int>(cudaFree(data_))); }
  char* data() const { return static_cast<char*>(data_); }

 private:
  bool of_nccl_;
  void* data_ = nullptr;
};

struct Way {
  std::string name;
  std::function<void(cudaStream_t)> run;
  std::vector<double> us = {};
};

/// What the threads share: where they meet, and their times of a round.
struct Board {
  explicit Board(int ranks) : gate(ranks), us(static_cast<std::size_t>(ranks)) {}
  std::barrier<> gate;
  std::vector<double> us;
  bool more = true;  // written between two meetings at the gate
  std::string json;
};

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

/// Every rank sends every other one `block` bytes and keeps as many.
void all_to_all(const char* from, char* to, std::int64_t block, int ranks, ncclComm_t comm, cudaStream_t stream) {
#if NCCL_VERSION_CODE >= 22800
  static_cast<void>(ranks);
  REQUIRE(ncclAlltoAll(from, to, static_cast<std::size_t>(block), ncclUint8, comm, stream));
#else
  REQUIRE(ncclGroupStart());
  for (int r = 0; r < ranks; ++r) {
    REQUIRE(ncclSend(from + r * block, static_cast<std::size_t>(block), ncclUint8, r, comm, stream));
    REQUIRE(ncclRecv(to + r * block, static_cast<std::size_t>(block), ncclUint8, r, comm, stream));
  }
  REQUIRE(ncclGroupEnd());
#endif
}

/// All of ours bring the same bytes. NCCL's all-to-all permutes nothing, so that it cannot be compared.
void check(const Case& c, const Buffer& in, std::int64_t in_bytes, const Buffer& out, std::int64_t out_bytes, int rank,
           std::span<const Way> ours, cudaStream_t stream) {
  std::vector<std::uint64_t> source(static_cast<std::size_t>(in_bytes + 7) / 8);
  std::mt19937_64 random(static_cast<std::uint64_t>(rank));
  std::generate(source.begin(), source.end(), std::ref(random));
  REQUIRE(cudaMemcpy(in.data(), source.data(), static_cast<std::size_t>(in_bytes), cudaMemcpyHostToDevice));
  std::vector<char> first(static_cast<std::size_t>(out_bytes)), other(first.size());
  for (const Way& way : ours) {
    std::vector<char>& to = &way == ours.data() ? first : other;
    REQUIRE(cudaMemsetAsync(out.data(), 0xff, to.size(), stream));
    way.run(stream);
    REQUIRE(cudaMemcpyAsync(to.data(), out.data(), to.size(), cudaMemcpyDeviceToHost, stream));
    REQUIRE(cudaStreamSynchronize(stream));
    if (&way != ours.data() && other != first)
      throw std::runtime_error(c.name + ": " + way.name + " gives other bytes than " + ours[0].name);
  }
}

void measure(const Case& c, int rank, Comm& comm, Comm& threads, ncclComm_t plain, ncclComm_t copying, Board& board,
             double seconds) {
  const int ranks = comm.size();
  const Distribution src = parse_distribution(c.src), dst = parse_distribution(c.dst);
  const Exchange exchange(src, c.dtype, dst, c.dtype);
  std::int64_t most = 0;  // sent to others, of the rank that sends the most
  for (int r = 0; r < ranks; ++r) {
    std::int64_t sent = 0;
    for (const Pair& p : exchange.sends(r)) sent += p.to != r ? p.bytes : 0;
    most = std::max(most, sent);
  }
  const std::int64_t block = (most / (ranks - 1) + 127) / 128 * 128;
  const auto bytes_of = [&](const Distribution& d) {
    std::int64_t bytes = size_bytes(c.dtype);
    for (const std::int64_t n : local_shape(d, rank)) bytes *= n;
    return std::max<std::int64_t>(bytes, 128);
  };
  const Buffer in(bytes_of(src)), out(bytes_of(dst)), from(block * ranks), to(block * ranks);

  std::vector<std::unique_ptr<distributed::Plan>> plans;
  std::vector<Way> ways;
  ways.push_back({"ncclAlltoAll", [&](cudaStream_t s) { all_to_all(from.data(), to.data(), block, ranks, plain, s); }});
#if NCCL_VERSION_CODE >= 22800
  std::unique_ptr<Buffer> window_in, window_out;
  ncclWindow_t in_window = nullptr, out_window = nullptr;
  if (copying != nullptr) {
    window_in = std::make_unique<Buffer>(block * ranks, true);
    window_out = std::make_unique<Buffer>(block * ranks, true);
    const auto whole = static_cast<std::size_t>(block * ranks);
    REQUIRE(ncclCommWindowRegister(copying, window_in->data(), whole, &in_window, NCCL_WIN_COLL_SYMMETRIC));
    REQUIRE(ncclCommWindowRegister(copying, window_out->data(), whole, &out_window, NCCL_WIN_COLL_SYMMETRIC));
    ways.push_back({"ncclAlltoAll by copy engines", [&](cudaStream_t s) {
                      all_to_all(window_in->data(), window_out->data(), block, ranks, copying, s);
                    }});
  }
#else
  static_cast<void>(copying);
#endif
  const auto add = [&](const char* name, Comm& of, Method method, bool check_runs) {
    ExchangeOptions options;
    options.device = DeviceKind::kCuda;
    options.cuda_device = rank;
    options.deadline = std::chrono::seconds(60);
    options.method = method;
    options.check_runs = check_runs;
    plans.push_back(
        std::make_unique<distributed::Plan>(distributed::plan({src, c.dtype, {}}, {dst, c.dtype, {}}, of, options)));
    ways.push_back({name, [&in, &out, p = plans.back().get()](cudaStream_t s) { p->run(out.data(), in.data(), s); }});
  };
  const std::size_t first_of_ours = ways.size();
  add("auto", comm, Method::kAuto, true);
  add("auto unchecked", comm, Method::kAuto, false);
  add("fused", comm, Method::kDirect, false);
  add("staged", comm, Method::kMessages, false);
  add("auto without NCCL", threads, Method::kAuto, true);

  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  REQUIRE(cudaEventCreate(&begin));
  REQUIRE(cudaEventCreate(&end));
  check(c, in, bytes_of(src), out, bytes_of(dst), rank, std::span(ways).subspan(first_of_ours), stream);
  const auto stop = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  bool more = true;
  for (int round = 0; more; ++round) {
    for (Way& way : ways) {
      REQUIRE(cudaStreamSynchronize(stream));
      board.gate.arrive_and_wait();
      REQUIRE(cudaEventRecord(begin, stream));
      way.run(stream);
      REQUIRE(cudaEventRecord(end, stream));
      REQUIRE(cudaEventSynchronize(end));
      float ms = 0;
      REQUIRE(cudaEventElapsedTime(&ms, begin, end));
      board.us[static_cast<std::size_t>(rank)] = ms * 1e3;
      board.gate.arrive_and_wait();
      if (round > 1) way.us.push_back(*std::max_element(board.us.begin(), board.us.end()));
    }
    board.gate.arrive_and_wait();
    if (rank == 0) board.more = round < 12 || std::chrono::steady_clock::now() < stop;
    board.gate.arrive_and_wait();
    more = board.more;
  }
  if (rank == 0) {
    char line[256];
    std::snprintf(line, sizeof line, "  \"%s\": {\"off_rank_bytes\": %lld, \"auto takes\": \"%s\"", c.name.c_str(),
                  static_cast<long long>(most), std::string(name(plans[0]->method())).c_str());
    std::string text = line;
    std::printf("%-24s %6.0f MiB leave a GPU (auto: %s)\n", c.name.c_str(), static_cast<double>(most) / (1 << 20),
                std::string(name(plans[0]->method())).c_str());
    for (const Way& way : ways) {
      const double us = median(way.us);
      std::printf("    %-30s %10.1f us %8.1f GB/s  %5.2f of ncclAlltoAll\n", way.name.c_str(), us,
                  static_cast<double>(most) / us / 1e3, median(ways[0].us) / us);
      std::snprintf(line, sizeof line, ", \"%s\": %.1f", way.name.c_str(), us);
      text += line;
    }
    board.json += (board.json.empty() ? "" : ",\n") + text + "}";
  }
  plans.clear();
#if NCCL_VERSION_CODE >= 22800
  if (copying != nullptr) {
    REQUIRE(ncclCommWindowDeregister(copying, in_window));
    REQUIRE(ncclCommWindowDeregister(copying, out_window));
  }
#endif
  static_cast<void>(cudaEventDestroy(begin));
  static_cast<void>(cudaEventDestroy(end));
  static_cast<void>(cudaStreamDestroy(stream));
  board.gate.arrive_and_wait();
}

void run_rank(int rank, int ranks, Comm& threads, const ncclUniqueId (&ids)[2], Board& board, std::int64_t mib,
              double seconds) {
  REQUIRE(cudaSetDevice(rank));
  ncclComm_t plain = nullptr, copying = nullptr;
  REQUIRE(ncclCommInitRank(&plain, ranks, ids[0], rank));
#if NCCL_VERSION_CODE >= 22800
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.CTAPolicy = NCCL_CTA_POLICY_ZERO;
  REQUIRE(ncclCommInitRankConfig(&copying, ranks, ids[1], rank, &config));
#endif
  {
    const std::unique_ptr<Comm> comm = nccl(plain);
    for (const Case& c : cases(ranks, mib)) measure(c, rank, *comm, threads, plain, copying, board, seconds);
  }
  REQUIRE(ncclCommDestroy(plain));
  if (copying != nullptr) REQUIRE(ncclCommDestroy(copying));
}

}  // namespace

int main(int argc, char** argv) {
  if (!multicast_is_off()) return 1;
  std::string json;
  std::int64_t mib = 256;
  double seconds = 1;
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess) gpus = 0;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (value != nullptr && option == "--json") {
      json = value;
    } else if (value != nullptr && option == "--mib") {
      mib = std::atoll(value);
    } else if (value != nullptr && option == "--seconds") {
      seconds = std::atof(value);
    } else if (value != nullptr && option == "--gpus") {
      gpus = std::min(gpus, std::atoi(value));
    } else {
      std::fprintf(stderr, "%s: exchange_nccl [--json FILE] [--mib 256] [--gpus N] [--seconds 1]\n", argv[i]);
      return 2;
    }
  }
  if (gpus < 2) {
    std::printf("exchange_nccl SKIPPED, nothing was measured: %d GPU\n", gpus);
    return 77;
  }
  ncclUniqueId ids[2];
  for (ncclUniqueId& id : ids) REQUIRE(ncclGetUniqueId(&id));
  Board board(gpus);
  Threads world(gpus);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < gpus; ++rank)
    threads.emplace_back([&, rank] {
      try {
        run_rank(rank, gpus, world.comm(rank), ids, board, mib, seconds);
      } catch (const std::exception& e) {
        std::fprintf(stderr, "rank %d: %s\n", rank, e.what());
        std::_Exit(1);  // the others wait for it
      }
    });
  for (std::thread& t : threads) t.join();
  if (!json.empty()) {
    cudaDeviceProp device{};
    REQUIRE(cudaGetDeviceProperties(&device, 0));
    int version = 0;
    REQUIRE(ncclGetVersion(&version));
    std::ofstream(json) << "{\n \"gpu\": \"" << device.name << "\",\n \"ranks\": " << gpus
                        << ",\n \"nccl\": " << version << ",\n \"us\": {\n"
                        << board.json << "\n }\n}\n";
  }
}
