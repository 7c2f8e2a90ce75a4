#include "tests/gpu/every_kernel.h"

#include <stdexcept>

#include "src/base/checked.h"
#include "src/cuda/planner.h"

namespace restride::test {
namespace {

std::string form_of(cuda::RowsKind kind) {
  constexpr const char* kNames[] = {" unit", " forward", " reverse", " collect", " repeat", " dense"};
  return kNames[static_cast<int>(kind)];
}

std::string form_of(cuda::PackedKind kind) {
  constexpr const char* kNames[] = {" fixed", " spread", " loose", " flat", " transposed", " sorted"};
  return kNames[static_cast<int>(kind)];
}

/// The form of a kernel that arguments mean, where it has several.
struct Form {
  std::string operator()(const cuda::RowsArgs& a) const {
    const bool one = a.kind == cuda::RowsKind::kDense && a.row_count == 1;
    return form_of(a.kind) + (one ? " one" : !a.whole ? "" : a.threads == cuda::kWideThreads ? " wide" : " whole");
  }
  std::string operator()(const cuda::PixelsArgs& a) const { return a.window ? " window" : " collect"; }
  std::string operator()(const cuda::BulkTileArgs& a) const { return a.stages > 1 ? " ring" : ""; }
  std::string operator()(const cuda::ChainArgs& a) const { return a.breaks ? " breaks" : ""; }
  std::string operator()(const cuda::UnalignedChainArgs& a) const {
    const bool bytes = a.dst_room != 0, large = cuda::unaligned_patches(a) > cuda::kFewPatches * a.threads;
    return a.run_rows == 0 ? "" : bytes && large ? " large runs" : " runs";
  }
  std::string operator()(const cuda::PixelTileArgs& a) const { return a.backwards ? " backwards" : ""; }
  std::string operator()(const cuda::PackedArgs& a) const { return form_of(a.kind); }
  std::string operator()(const cuda::RecordsArgs& a) const {
    if (a.plane_units != 0) return "";
    const std::string narrow = a.vector_bytes == 16 ? "" : " by " + std::to_string(a.vector_bytes);
    return narrow + (a.to_planes ? " apart" : " together");
  }
  std::string operator()(const cuda::BatchArgs& a) const {
    if (a.kept_words != 0) return cuda::batch_turns(a.line_units.divisor, 1, 16) > 2 ? " kept short" : " kept";
    return a.word_bytes < 16 ? " narrow" : a.pieces > 1 ? " apart" : "";
  }
  std::string operator()(const cuda::GatherArgs& a) const { return a.src_rank > 0 ? " two walks" : ""; }
  template <class Args>
  std::string operator()(const Args&) const {
    return "";
  }
};

std::int64_t alignment_of_skew(std::int64_t skew) { return skew == 0 ? 128 : power_of_two_divisor(skew, 128); }

}  // namespace

// Ragged where the kernel allows it, of 100 KB or so; made from what bids for some 400 layouts.
const std::vector<KernelCase>& kernel_cases() {
  static const std::vector<KernelCase> cases = {
      {"run/words forward 4", "f32 (5001)", "f32 (5001)", 4, 8},
      {"run/words unit whole 16", "c128 (5000)", "c128 (5000)"},
      {"run/cast dense one 2->4", "f32 (5000)", "f16 (5000)"},
      {"run/cast collect 4->1", "u8 (5000)", "f32 (5000)", 3, 4},
      {"rows/words collect 1", "u8 (40,300)", "u8 (40,300):(700,2)"},
      {"rows/words collect 2", "u16 (5,3201)", "u16 (5,3201):(1,5)", 2, 0},
      {"rows/words collect 4", "f32 (40,300)", "f32 (40,300):(700,2)"},
      {"rows/words collect 8", "f64 (40,300)", "f64 (40,300):(700,2)"},
      {"rows/words forward 1", "u8 (341,349)", "u8 (349,341):(342,1)"},
      {"rows/words forward 2", "u16 (341,349)", "u16 (349,341):(342,1)"},
      {"rows/words forward 4", "f32 (1000,17)", "f32 (1000,17):(24,1)"},
      {"rows/words forward 8", "f64 (5000)", "f64 (5000)", 8, 24},
      {"rows/words repeat 1", "u8 (40,300)", "u8 (40,300):(1,0)"},
      {"rows/words repeat 2", "u16 (40,300)", "u16 (40,300):(1,0)"},
      {"rows/words repeat 4", "f32 (40,300)", "f32 (40,300):(1,0)"},
      {"rows/words repeat 8", "f64 (40,300)", "f64 (40,300):(1,0)"},
      {"rows/words reverse 1", "u8 (40,300)", "u8 (40,300):(300,-1)@299"},
      {"rows/words reverse 2", "u16 (40,300)", "u16 (40,300):(300,-1)@299"},
      {"rows/words reverse 4", "f32 (40,300)", "f32 (40,300):(300,-1)@299"},
      {"rows/words reverse 8", "f64 (40,300)", "f64 (40,300):(300,-1)@299"},
      {"rows/words unit 1", "u8 (17,9,11,13,5)", "u8 (17,9,11,13,5):(1,17,153,1683,21879)", 1, 3},
      {"rows/words unit 2", "u16 (301,16,16)", "u16 (301,16,16):(256,1,16)"},
      {"rows/words unit 4", "f32 (2,64,113,3)", "f32 (2,64,113,3):(21696,3,192,1)"},
      {"rows/words unit 8", "f64 (3201,5)", "f64 (3201,5):(1,3201)", 8, 0},
      {"rows/words unit 16", "c128 (40,71):(73,1)", "c128 (40,71):(170,2)"},
      {"rows/words unit whole 16", "c128 (40,300)", "c128 (40,300):(700,2)"},
      {"rows/words unit wide 16", "c128 (900,15)", "c128 (900,15):(17,1)"},
      {"rows/cast collect 1->4", "f32 (40,300)", "u8 (40,300):(301,1)"},
      {"rows/cast collect 2->4", "f32 (40,300)", "f16 (40,300):(301,1)"},
      {"rows/cast collect 4->1", "u8 (40,300)", "f32 (40,300):(301,1)"},
      {"rows/cast collect 4->2", "f16 (40,300)", "f32 (40,300):(301,1)"},
      {"rows/cast dense 1->4", "f32 (40,304)", "u8 (40,304):(320,1)"},
      {"rows/cast dense 2->4", "f32 (40,304)", "f16 (40,304):(320,1)"},
      {"rows/cast dense 4->1", "u8 (40,304)", "f32 (40,304):(320,1)"},
      {"rows/cast dense 4->2", "f16 (40,304)", "f32 (40,304):(320,1)"},
      {"rows/cast dense one 1->4", "f32 (5000)", "u8 (5000)"},
      {"rows/cast dense one 2->4", "f32 (5000)", "f16 (5000)"},
      {"rows/cast dense one 4->1", "u8 (5000)", "f32 (5000)"},
      {"rows/cast dense one 4->2", "f16 (5000)", "f32 (5000)"},
      {"rows/pixels collect 1", "u8 (3201,9)", "u8 (3201,9):(1,3201)", 1, 0},
      {"rows/pixels collect 2", "u16 (3201,9)", "u16 (3201,9):(1,3201)", 2, 0},
      {"rows/pixels collect 4", "f32 (7,301,3)", "f32 (7,301,3):(1210,4,1)"},
      {"rows/pixels collect 8", "f64 (2,64,113,3)", "f64 (2,64,113,3):(21696,3,192,-1)@2"},
      {"rows/pixels collect 16", "c128 (3200,3)", "c128 (3200,3):(1,3200)"},
      {"rows/pixels window 1", "u8 (2,3201)", "u8 (2,3201):(1,2)", 1, 0},
      {"rows/pixels window 2", "u16 (7,301,3)", "u16 (7,301,3):(1210,4,1)"},
      {"rows/short 1", "u8 (700,3):(4,1)", "u8 (700,3)"},
      {"rows/short 2", "u16 (700,3):(4,1)", "u16 (700,3)"},
      {"rows/short 4", "f32 (700,3):(4,1)", "f32 (700,3)"},
      {"rows/short 8", "f64 (700,3):(4,1)", "f64 (700,3)"},
      {"rows/short 16", "c128 (700,3):(4,1)", "c128 (700,3)"},
      {"tile/registers 1", "u8 (4,3200)", "u8 (4,3200):(1,4)"},
      {"tile/registers 2", "u16 (4,3200)", "u16 (4,3200):(1,4)"},
      {"tile/unaligned 1", "u8 (255,257)", "u8 (255,257):(1,255)"},
      {"tile/unaligned 1->4", "f32 (255,257)", "u8 (255,257):(1,255)"},
      {"tile/unaligned 2", "u16 (255,257)", "u16 (255,257):(1,255)"},
      {"tile/unaligned 2->4", "f32 (255,257)", "f16 (255,257):(1,255)"},
      {"tile/unaligned 4", "f32 (255,257)", "f32 (255,257):(1,255)"},
      {"tile/unaligned 4->1", "u8 (301,8,8)", "f32 (301,8,8):(64,1,8)"},
      {"tile/unaligned 4->2", "f16 (255,257)", "f32 (255,257):(1,255)"},
      {"tile/unaligned 8", "f64 (255,257)", "f64 (255,257):(1,255)"},
      {"tile/aligned 1", "u8 (192,352)", "u8 (192,352):(1,192)"},
      {"tile/aligned 1->4", "f32 (256,256)", "u8 (256,256):(1,256)"},
      {"tile/aligned 2", "u16 (256,256)", "u16 (256,256):(1,256)"},
      {"tile/aligned 2->4", "f32 (256,256)", "f16 (256,256):(1,256)"},
      {"tile/aligned 4", "f32 (256,260)", "f32 (256,260):(1,256)"},
      {"tile/aligned 4->1", "u8 (256,256)", "f32 (256,256):(1,256)"},
      {"tile/aligned 4->2", "f16 (256,256)", "f32 (256,256):(1,256)"},
      {"tile/aligned 8", "f64 (130,258)", "f64 (130,258):(1,130)"},
      {"tile/aligned 16", "c128 (192,22)", "c128 (192,22):(1,192)"},
      {"tile/bulk 1", "u8 (192,352)", "u8 (192,352):(1,192)"},
      {"tile/bulk 1->2", "f16 (256,256)", "u8 (256,256):(1,256)"},
      {"tile/bulk 1->4", "f32 (256,256)", "u8 (256,256):(1,256)"},
      {"tile/bulk 2", "u16 (256,256)", "u16 (256,256):(1,256)"},
      {"tile/bulk 2->4", "f32 (256,256)", "f16 (256,256):(1,256)"},
      {"tile/bulk 4", "f32 (256,260)", "f32 (256,260):(1,256)"},
      {"tile/bulk 8", "f64 (130,258)", "f64 (130,258):(1,130)"},
      {"tile/bulk 16", "c128 (3,3200)", "c128 (3,3200):(1,3)"},
      {"tile/bulk ring 1", "u8 (512,1040)", "u8 (512,1040):(1,512)"},
      {"tile/bulk ring 2", "u16 (512,520)", "u16 (512,520):(1,512)"},
      {"tile/chains 1", "u8 (8,6,16,8,12)", "u8 (8,6,16,8,12):(1,8,48,768,6144)"},
      {"tile/chains 2", "u16 (8,6,16,8,12)", "u16 (8,6,16,8,12):(1,8,48,768,6144)"},
      {"tile/chains 4", "f32 (2,2,2,2,2,2,2,2,9,8)", "f32 (2,2,2,2,2,2,2,2,9,8):(1,2,4,8,16,32,64,128,256,2304)"},
      {"tile/chains 8", "f64 (2,2,2,2,2,2,2,2,9,8)", "f64 (2,2,2,2,2,2,2,2,9,8):(1,2,4,8,16,32,64,128,256,2304)"},
      {"tile/chains 16", "c128 (8,6,5,24)", "c128 (8,6,5,24):(1,8,48,240)"},
      {"tile/chains breaks 1", "u8 (10,17,16,9,16)", "u8 (10,17,16,9,16):(39168,144,1,16,2448)"},
      {"tile/chains breaks 2", "f16 (19,20,8,8,8)", "f16 (19,20,8,8,8):(512,9728,64,1,8)"},
      {"tile/chains breaks 4", "f32 (14,16,8,12,4)", "f32 (14,16,8,12,4):(6144,384,1,32,8)"},
      {"tile/chains breaks 8", "f64 (8,10,6,20,6)", "f64 (8,10,6,20,6):(120,960,9600,1,20)"},
      {"tile/chains breaks 16", "c128 (5,20,11,6,3)", "c128 (5,20,11,6,3):(360,18,1800,1,6)"},
      {"tile/unaligned_chains 1", "u8 (33,33,29,25)", "u8 (33,33,29,25):(33,1,1089,31581)"},
      {"tile/unaligned_chains 2", "u16 (7,33,9,45)", "u16 (7,33,9,45):(1,7,10395,231)"},
      {"tile/unaligned_chains 4", "f32 (39,9,7,25)", "f32 (39,9,7,25):(1,975,8775,39)"},
      {"tile/unaligned_chains large runs 1", "u8 (3,2,11,43,180)", "u8 (3,2,11,43,180):(473,255420,1,11,1419)"},
      {"tile/unaligned_chains runs 1", "u8 (29,39,93)", "u8 (29,39,93):(3627,1,39)"},
      {"tile/unaligned_chains runs 2", "u16 (9,35,117)", "u16 (9,35,117):(4095,1,35)"},
      {"tile/unaligned_chains runs 4", "f32 (3,2,11,23,60)", "f32 (3,2,11,23,60):(253,45540,1,11,759)"},
      {"tile/unaligned_chains runs 8", "f64 (9,39,73)", "f64 (9,39,73):(2847,1,39)"},
      {"tile/unaligned_chains 4->2", "f16 (7,33,9,45)", "f32 (7,33,9,45):(1,7,10395,231)"},
      {"tile/unaligned_chains 2->4", "f32 (39,9,7,25)", "f16 (39,9,7,25):(1,975,8775,39)"},
      {"tile/unaligned_chains 4->1", "u8 (33,33,29,25)", "f32 (33,33,29,25):(33,1,1089,31581)"},
      {"tile/unaligned_chains 1->4", "f32 (33,33,29,25)", "u8 (33,33,29,25):(33,1,1089,31581)"},
      {"tile/unaligned_chains 1->1", "f8e5m2 (39,9,9,25)", "f8e4m3 (39,9,9,25):(1,975,8775,39)"},
      {"tile/unaligned_chains runs 4->2", "f16 (9,35,117)", "f32 (9,35,117):(4095,1,35)"},
      {"tile/unaligned_chains runs 4->1", "u8 (29,39,93)", "f32 (29,39,93):(3627,1,39)"},
      {"tile/unaligned_chains runs 1->8", "f64 (9,39,73)", "u8 (9,39,73):(2847,1,39)"},
      {"tile/unaligned_chains 1->2", "f16 (39,9,7,25)", "u8 (39,9,7,25):(1,975,8775,39)"},
      {"tile/unaligned_chains 2->1", "u8 (33,33,29,25)", "f16 (33,33,29,25):(33,1,1089,31581)"},
      {"tile/unaligned_chains 2->2", "bf16 (39,9,7,25)", "f16 (39,9,7,25):(1,975,8775,39)"},
      {"tile/unaligned_chains 2->8", "f64 (39,9,7,25)", "f16 (39,9,7,25):(1,975,8775,39)"},
      {"tile/unaligned_chains 8->2", "f16 (39,9,7,25)", "f64 (39,9,7,25):(1,975,8775,39)"},
      {"tile/unaligned_chains 4->4", "f32 (39,9,7,25)", "i32 (39,9,7,25):(1,975,8775,39)"},
      {"tile/unaligned_chains 4->8", "f64 (39,9,7,25)", "f32 (39,9,7,25):(1,975,8775,39)"},
      {"tile/unaligned_chains 8->4", "f32 (39,9,7,25)", "f64 (39,9,7,25):(1,975,8775,39)"},
      {"tile/unaligned_chains 8->1", "u8 (33,33,29,25)", "f64 (33,33,29,25):(33,1,1089,31581)"},
      {"tile/unaligned_chains 8->8", "f64 (39,9,7,25)", "i64 (39,9,7,25):(1,975,8775,39)"},
      {"tile/unaligned_chains 8", "f64 (37,6,7,19)", "f64 (37,6,7,19):(1,4921,703,37)"},
      {"tile/pixels 1", "u8 (255,257)", "u8 (255,257):(1,255)"},
      {"tile/pixels 2", "u16 (2,64,113,3)", "u16 (2,64,113,3):(21696,3,192,1)"},
      {"tile/pixels backwards 1", "u8 (2,64,113,3)", "u8 (2,64,113,3):(21696,3,192,-1)@2"},
      {"tile/pixels backwards 2", "u16 (2,64,113,3)", "u16 (2,64,113,3):(21696,3,192,-1)@2"},
      {"packed/staged transposed 1", "u8 (8,6,16,8,12)", "u8 (8,6,16,8,12):(1,8,48,768,6144)"},
      {"packed/staged transposed 2", "u16 (301,16,16)", "u16 (301,16,16):(256,1,16)"},
      {"packed/staged fixed 4", "f32 (301,30,30)", "f32 (301,30,30):(900,1,30)"},
      {"packed/staged fixed 8", "f64 (301,30,30)", "f64 (301,30,30):(900,1,30)", 8, 16},
      {"packed/staged fixed 16", "c128 (3200,3)", "c128 (3200,3):(1,3200)"},
      {"packed/staged flat 1", "u8 (301,30,30)", "u8 (301,30,30):(900,1,30)"},
      {"packed/staged flat 1->4", "f32 (301,7,7)", "u8 (301,7,7):(49,1,7)"},
      {"packed/staged flat 2", "u16 (301,13,13)", "u16 (301,13,13):(169,1,13)"},
      {"packed/staged flat 2->4", "f32 (301,7,7)", "f16 (301,7,7):(49,1,7)"},
      {"packed/staged flat 4", "f32 (3201,9)", "f32 (3201,9):(1,3201)", 4, 0},
      {"packed/staged flat 4->1", "u8 (301,8,8)", "f32 (301,8,8):(64,1,8)"},
      {"packed/staged flat 4->2", "f16 (301,7,7)", "f32 (301,7,7):(49,1,7)"},
      {"packed/staged flat 8", "f64 (301,13,13)", "f64 (301,13,13):(169,1,13)"},
      {"packed/staged flat 16", "c128 (3201,2)", "c128 (3201,2):(1,3201)", 16, 0},
      {"packed/staged loose 1", "u8 (9,3201)", "u8 (9,3201):(1,9)", 1, 0},
      {"packed/staged loose 1->4", "f32 (301,8,8)", "u8 (301,8,8):(64,1,8)"},
      {"packed/staged loose 2", "u16 (7,3201)", "u16 (7,3201):(1,7)", 2, 0},
      {"packed/staged loose 2->4", "f32 (301,8,8)", "f16 (301,8,8):(64,1,8)"},
      {"packed/staged loose 4", "f32 (2,64,113,3)", "f32 (2,64,113,3):(21696,3,192,1)"},
      {"packed/staged loose 4->1", "u8 (256,256)", "f32 (256,256):(1,256)"},
      {"packed/staged loose 4->2", "f16 (301,8,8)", "f32 (301,8,8):(64,1,8)"},
      {"packed/staged loose 8", "f64 (2,64,113,3)", "f64 (2,64,113,3):(21696,3,192,1)"},
      {"packed/staged sorted 1", "u8 (17,9,11,13,5)", "u8 (17,9,11,13,5):(1,17,153,1683,21879)", 1, 3},
      {"packed/staged sorted 2", "u16 (17,9,11,13,5)", "u16 (17,9,11,13,5):(1,17,153,1683,21879)", 2, 6},
      {"packed/staged spread 1", "u8 (301,16,16)", "u8 (301,16,16):(256,1,16)"},
      {"packed/staged spread 2", "u16 (301,8,8)", "u16 (301,8,8):(64,1,8)"},
      {"packed/staged spread 4", "f32 (2,2,2,2,2,2,2,2,9,8)",
       "f32 (2,2,2,2,2,2,2,2,9,8):(1,2,4,8,16,32,64,128,256,2304)"},
      {"packed/staged spread 8", "f64 (7,4,5,3,9)", "f64 (7,4,5,3,9):(1,7,28,140,420)"},
      {"packed/staged spread 16", "c128 (4,3201)", "c128 (4,3201):(1,4)", 16, 0},
      {"packed/batches 1", "u8 (701,13,19)", "u8 (701,13,19):(247,1,13)", 1, 3},
      {"packed/batches 2", "u16 (701,31,43)", "u16 (701,31,43):(1333,1,31)", 2, 6},
      {"packed/batches 4", "f32 (301,9,41)", "f32 (301,9,41):(369,1,9)", 4, 8},
      {"packed/batches 8", "f64 (101,31,33)", "f64 (101,31,33):(1023,1,31)", 8, 0},
      {"packed/batches apart 2", "u16 (15,11,31,43)", "u16 (15,11,31,43):(1333,19995,1,31)", 2, 6},
      {"packed/batches kept 1", "u8 (701,12,12)", "u8 (701,12,12):(144,1,12)", 3, 0},
      {"packed/batches kept short 1", "u8 (1401,7,7)", "u8 (1401,7,7):(49,1,7)", 0, 5},
      {"packed/batches narrow 1", "u8 (71,119,13)", "u8 (71,119,13):(1547,1,119)", 1, 0},
      {"packed/batches narrow 2", "u16 (41,67,35)", "u16 (41,67,35):(2345,1,67)", 0, 2},
      {"packed/batches narrow 4", "f32 (5,100,100)", "f32 (5,100,100):(10000,1,100)", 4, 0},
      {"packed/batches narrow 8", "f64 (21,24,64)", "f64 (21,24,64):(1536,1,24)", 8, 0},
      {"packed/direct 4", "f32 (3201,7)", "f32 (3201,7):(1,3201)", 4, 0},
      {"packed/direct 8", "f64 (301,8,8)", "f64 (301,8,8):(64,1,8)"},
      {"packed/planes 4", "f32 (9,3201)", "f32 (9,3201):(1,9)", 4, 0},
      {"packed/planes 8", "f64 (5,3201)", "f64 (5,3201):(1,5)", 8, 0},
      {"packed/records apart 1", "u8 (9,3200)", "u8 (9,3200):(1,9)"},
      {"packed/records apart 2", "u16 (9,3200)", "u16 (9,3200):(1,9)"},
      {"packed/records apart 4", "f32 (9,3200)", "f32 (9,3200):(1,9)"},
      {"packed/records apart 8", "f64 (5,3200)", "f64 (5,3200):(1,5)"},
      {"packed/records together 1", "u8 (3200,9)", "u8 (3200,9):(1,3200)"},
      {"packed/records together 2", "u16 (3200,9)", "u16 (3200,9):(1,3200)"},
      {"packed/records together 4", "f32 (3200,9)", "f32 (3200,9):(1,3200)"},
      {"packed/records together 8", "f64 (3200,5)", "f64 (3200,5):(1,3200)"},
      {"packed/records by 8 apart 1", "u8 (16,3208)", "u8 (16,3208):(1,16)", 8, 8},
      {"packed/records by 4 together 1", "u8 (3204,11)", "u8 (3204,11):(1,3204)", 4, 4},
      {"packed/records_cast apart 1->4", "f32 (2,3,1600)", "u8 (2,3,1600):(4800,1,3)"},
      {"packed/records_cast apart 2->4", "f32 (2,3,1600)", "f16 (2,3,1600):(4800,1,3)"},
      {"packed/records_cast apart 4->1", "u8 (2,3,1600)", "f32 (2,3,1600):(4800,1,3)"},
      {"packed/records_cast apart 4->2", "f16 (2,3,1600)", "f32 (2,3,1600):(4800,1,3)"},
      {"packed/records_cast together 1->4", "f32 (2,1600,4)", "u8 (2,1600,4):(6400,1,1600)"},
      {"packed/records_cast together 2->4", "f32 (2,1600,4)", "f16 (2,1600,4):(6400,1,1600)"},
      {"packed/records_cast together 4->1", "u8 (2,1600,4)", "f32 (2,1600,4):(6400,1,1600)"},
      {"packed/records_cast together 4->2", "f16 (2,1600,4)", "f32 (2,1600,4):(6400,1,1600)"},
      {"gather/units 1", "u8 (341,349)", "u8 (349,341):(342,1)"},
      {"gather/cast 1->4", "f32 (301,8,8)", "u8 (301,8,8):(64,1,8)"},
      {"gather/units 2", "u16 (301,16,16)", "u16 (301,16,16):(256,1,16)"},
      {"gather/cast 2->4", "f32 (301,8,8)", "f16 (301,8,8):(64,1,8)"},
      {"gather/units 4", "f32 (2,64,113,3)", "f32 (2,64,113,3):(21696,3,192,1)"},
      {"gather/cast 4->1", "u8 (301,8,8)", "f32 (301,8,8):(64,1,8)"},
      {"gather/cast 4->2", "f16 (301,8,8)", "f32 (301,8,8):(64,1,8)"},
      {"gather/units 8", "f64 (2,2,2,2,2,2,2,2,9,8)", "f64 (2,2,2,2,2,2,2,2,9,8):(1,2,4,8,16,32,64,128,256,2304)"},
      {"gather/units 16", "c128 (1000):(3)", "c128 (1000)"},
      {"gather/units two walks 1", "u8 (341,349):(350,1)", "u8 (349,341):(342,1)"},
      {"gather/cast two walks 1->4", "f32 (341,349):(350,1)", "u8 (349,341):(342,1)"},
      {"gather/units two walks 2", "u16 (341,349):(350,1)", "u16 (349,341):(342,1)"},
      {"gather/units two walks 4", "f32 (341,349):(350,1)", "f32 (349,341):(342,1)"},
      {"gather/units two walks 8", "f64 (341,349):(350,1)", "f64 (349,341):(342,1)"},
      {"gather/units two walks 16", "c128 (41,59):(60,1)", "c128 (59,41):(42,1)"},
  };
  return cases;
}

std::string kernel_of(const cuda::CudaArgs& args) {
  const std::string src_unit = std::to_string(args.units.src), dst_unit = std::to_string(args.units.dst);
  return std::string(args.kernel->name.text) + std::visit(Form{}, args.args) + " " +
         (args.units.cast ? src_unit + "->" + dst_unit : dst_unit);
}

cuda::CudaMachine few_multiprocessors() {
  cuda::CudaMachine machine;
  machine.sm_count = 2;
  return machine;
}

Plan plan_of(const KernelCase& c, int cuda_device) {
  Options options;
  options.device = DeviceKind::kCuda;
  options.cuda_device = cuda_device;
  options.reshape = true;
  const auto like = api::make_plan(parse_layout(c.dst), parse_layout(c.src), options, alignment_of_skew(c.dst_skew),
                                   alignment_of_skew(c.src_skew));
  plan::Decision decision = cuda::plan_cuda(like->canonical, few_multiprocessors());
  std::string seen;
  const auto attempt = [&](const plan::Candidate& candidate) -> std::shared_ptr<Plan::Impl> {
    if (!candidate.applies) return nullptr;
    plan::Decision by = decision;
    by.chosen = candidate;
    auto made = api::with_decision(*like, by);
    const std::string kernel = kernel_of(made->cuda);
    seen += (seen.empty() ? "" : ", ") + kernel;
    return kernel == c.kernel ? made : nullptr;
  };
  if (auto made = attempt(decision.chosen)) return Plan(std::move(made));
  for (const plan::Candidate& other : decision.others)
    if (auto made = attempt(other)) return Plan(std::move(made));
  throw std::runtime_error(c.src + " -> " + c.dst + " has no candidate of '" + c.kernel + "', but: " + seen);
}

}  // namespace restride::test
