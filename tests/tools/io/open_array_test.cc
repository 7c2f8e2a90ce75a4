#include "tools/io/open_array.h"

#include "tests/tools/io/support.h"
#include "tools/io/npy.h"
#include "tools/io/safetensors.h"
#include "tools/io/save_array.h"
#include "tools/io/zip.h"

namespace restride::io {
namespace {

const std::vector<std::int64_t> kShape{2, 3};
const std::string kData = "abcdef";

// Writes 2 x 3 bytes as the name wants them.
void save(const std::string& spec) {
  ArrayWriter writer(spec, spec_of(contiguous(DType::kU8, kShape)), false);
  writer.write(0, 0, Bytes(reinterpret_cast<const std::uint8_t*>(kData.data()), 3));
  writer.write(0, 3, Bytes(reinterpret_cast<const std::uint8_t*>(kData.data()) + 3, 3));
  writer.commit(false);
}

std::string data_of(const OpenArray& a) {
  const std::vector<std::uint8_t> out = a.file.read(static_cast<std::uint64_t>(a.entry.layout.offset_bytes), 6);
  return std::string(out.begin(), out.end());
}

TEST(OpenArray, ReadsEveryFormatThatIsWritten) {
  TemporaryFolder folder;
  for (const char* name : {"a.npy", "a.npz:weights", "b.npz", "a.safetensors:w.0/x", "b.safetensors"}) {
    save(folder / name);
    const OpenArray a = open_array(folder / name);
    EXPECT_EQ(data_of(a), kData) << name;
    EXPECT_EQ(a.entry.layout.rank(), 2) << name;
  }
  save(folder / "a.raw");
  OpenOptions raw;
  raw.raw_layout = parse_layout("u8 (3,2):(1,3)");
  EXPECT_EQ(open_array(folder / "a.raw", raw).entry.layout, *raw.raw_layout);
}

TEST(OpenArray, TakesASlashForAColonAndAnOnlyMemberUnnamed) {
  TemporaryFolder folder;
  save(folder / "a.npz:weights");
  EXPECT_EQ(open_array(folder / "a.npz/weights").entry.name, "weights.npy");
  EXPECT_EQ(open_array(folder / "a.npz:weights.npy").entry.name, "weights.npy");
  EXPECT_EQ(open_array(folder / "a.npz").entry.name, "weights.npy");
}

TEST(OpenArray, PrefersTheExactNameOfATensor) {
  TemporaryFolder folder;
  const std::string json = R"({"a":{"dtype":"U8","shape":[2,3],"data_offsets":[6,12]},)"
                           R"("a.npy":{"dtype":"U8","shape":[6],"data_offsets":[0,6]},)"
                           R"("b.npy":{"dtype":"F3","shape":[6],"data_offsets":[12,15]}})";
  write_file(folder / "f.safetensors", le(json.size(), 8) + json + "ABCDEF" + kData + "xyz");
  EXPECT_EQ(data_of(open_array(folder / "f.safetensors:a")), kData);
  EXPECT_EQ(data_of(open_array(folder / "f.safetensors:a.npy")), "ABCDEF");
  // Only .npz adds an ending, and only the tensor that is asked for must have a dtype that is known.
  EXPECT_THROW(open_array(folder / "f.safetensors:b"), ArgumentError);
  EXPECT_NE(message_of<UnsupportedError>([&] { open_array(folder / "f.safetensors:b.npy"); }).find("'F3'"),
            std::string::npos);
}

TEST(OpenArray, PrefersAFileWhoseNameHoldsAColon) {
  TemporaryFolder folder;
  save(folder / "a:b.npy");
  EXPECT_EQ(data_of(open_array(folder / "a:b.npy")), kData);
}

TEST(OpenArray, SaysWhatThereIsWhenAMemberIsMissing) {
  TemporaryFolder folder;
  save(folder / "a.npz:weights");
  EXPECT_NE(message_of<ArgumentError>([&] { open_array(folder / "a.npz:bias"); }).find("it has weights"),
            std::string::npos);
  save(folder / "a.npy");
  EXPECT_THROW(open_array(folder / "a.npy:x"), ArgumentError);
}

TEST(OpenArray, NamesTheMemberThatIsNoArray) {
  TemporaryFolder folder;
  const std::string text = "hello", head = zip_local_header("größe.txt", text.size());
  write_file(folder / "a.npz",
             head + text + zip_end(std::vector<ZipEntry>{{"größe.txt", 0, text.size(), 0}}, head.size() + text.size()));
  EXPECT_NE(message_of<ParseError>([&] { open_array(folder / "a.npz:größe.txt"); }).find("a.npz: member 'größe.txt': "),
            std::string::npos);
  for (const char* name : {"a.npz", "a.npz:x"})
    EXPECT_NE(message_of<ArgumentError>([&] { open_array(folder / name); }).find("holds no arrays"), std::string::npos);
}

TEST(OpenArray, ReadsNumpysBytesAsWhatTheyAre) {
  TemporaryFolder folder;
  write_file(folder / "a.npy", npy_header("<V2", std::vector<std::int64_t>{2}, false) + "1234");
  OpenOptions options;
  options.reinterpret = Element(DType::kBF16);
  EXPECT_EQ(open_array(folder / "a.npy", options).entry.layout.element, Element(DType::kBF16));
  options.reinterpret = Element(DType::kF32);
  EXPECT_THROW(open_array(folder / "a.npy", options), Error);
}

TEST(OpenArray, ForgetsNumpysNameOfElementsThatAreSomethingElse) {
  TemporaryFolder folder;
  write_file(folder / "a.npy", npy_header("|S4", std::vector<std::int64_t>{2}, false) + "12345678");
  EXPECT_EQ(open_array(folder / "a.npy").entry.npy_descr, "|S4");
  OpenOptions options;
  options.reinterpret = Element::bytes(4);
  EXPECT_EQ(open_array(folder / "a.npy", options).entry.npy_descr, "");
}

TEST(OpenArray, SwapsBigEndianDatesAndTextOnceTheyAreNumbers) {
  TemporaryFolder folder;
  const auto swapped = [&](const char* descr, const Element& element) {
    write_file(folder / "a.npy", npy_header(descr, std::vector<std::int64_t>{2}, false) + std::string(32, '\1'));
    OpenOptions options;
    options.reinterpret = element;
    return open_array(folder / "a.npy", options).entry.swap_bytes;
  };
  EXPECT_EQ(swapped(">M8[ns]", DType::kI64), 8);
  EXPECT_EQ(swapped(">m8[s]", DType::kU64), 8);
  EXPECT_EQ(swapped(">U1", DType::kU32), 4);
  EXPECT_EQ(swapped(">U2", DType::kC64), 4);
  EXPECT_EQ(swapped("<M8[ns]", DType::kI64), 0);
  EXPECT_EQ(swapped("|S8", DType::kI64), 0);
  EXPECT_EQ(swapped(">M8[ns]", Element::bytes(8)), 0) << "bytes have no order";
  EXPECT_EQ(swapped(">f4", DType::kI32), 4);
  for (const auto& [descr, dtype] :
       {std::pair{">U2", DType::kI64}, {">M8[D]", DType::kC64}, {">f16", DType::kC128}, {">c8", DType::kU64}})
    EXPECT_NE(message_of<UnsupportedError>([&, d = descr, t = dtype] { swapped(d, t); }).find("big-endian words of"),
              std::string::npos)
        << descr;
}

TEST(OpenArray, RefusesWhatIsNoArrayFile) {
  TemporaryFolder folder;
  write_file(folder / "a.txt", "text");
  EXPECT_NE(message_of<ArgumentError>([&] { open_array(folder / "a.txt"); }).find("--in-layout"), std::string::npos);
  write_file(folder / "a.npy", "text");
  EXPECT_EQ(message_of<ParseError>([&] { open_array(folder / "a.npy"); }),
            folder / "a.npy" + ": it is damaged: it does not begin as its name says");
  write_file(folder / "a.npy", "");
  EXPECT_EQ(message_of<ParseError>([&] { open_array(folder / "a.npy"); }), folder / "a.npy" + ": it is empty");
  EXPECT_NE(message_of<IoError>([&] { open_array(folder / ""); }).find("directory"), std::string::npos);
  EXPECT_NE(message_of<IoError>([&] { open_array(folder / "none.npy"); }).find("No such file"), std::string::npos);
  EXPECT_NE(message_of<IoError>([&] { open_array("/dev/null"); }).find("no regular file"), std::string::npos);
}

TEST(OpenArray, RefusesRawLayoutsOutsideTheFile) {
  TemporaryFolder folder;
  save(folder / "a.raw");
  OpenOptions raw;
  for (const char* layout : {"u8 (7)", "u8 (2):(-1)", "u8 (2,2):(5,1)"}) {
    raw.raw_layout = parse_layout(layout);
    EXPECT_THROW(open_array(folder / "a.raw", raw), ParseError) << layout;
  }
  raw.raw_layout = parse_layout("u8 (6)");
  raw.raw_offset_bytes = INT64_MAX;
  EXPECT_THROW(open_array(folder / "a.raw", raw), Error);
  raw.raw_layout->offset_bytes = 1;
  raw.raw_offset_bytes = -1;
  EXPECT_THROW(open_array(folder / "a.raw", raw), ArgumentError);
}

TEST(ArrayWriter, SaysWhichNamesItUnderstands) {
  TemporaryFolder folder;
  const auto message = [&](const std::string& name, bool fortran = false) {
    return message_of<ArgumentError>([&] {
      ArraySpec spec = spec_of(contiguous(DType::kU8, kShape));
      spec.fortran_order = fortran;
      ArrayWriter(folder / name, spec, false);
    });
  };
  EXPECT_NE(message("a.txt").find(".safetensors"), std::string::npos);
  for (const char* name : {"a.npz:\xff", "a.safetensors:\xff"})
    EXPECT_NE(message(name).find("is no valid UTF-8"), std::string::npos) << message(name);
  EXPECT_NE(message("a.safetensors", true).find("--order F"), std::string::npos);
  EXPECT_EQ(folder.files(), 0u);
}

}  // namespace
}  // namespace restride::io
