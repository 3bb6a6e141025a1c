// Tensors as ONNX files hold them: raw, in typed fields, packed, in files beside the model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "onnx_model.hpp"
#include "random.hpp"

namespace longshore::tests::onnx_tensor_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Tensor read(const onnx::TensorProto& t) {
  const std::string bytes = t.SerializeAsString();
  return read_tensor_proto(std::as_bytes(std::span(bytes)), "t.pb");
}

onnx::TensorProto empty(DType dtype, std::initializer_list<std::int64_t> dims) {
  onnx::TensorProto t;
  t.set_data_type(static_cast<int>(dtype));
  for (std::int64_t d : dims) t.add_dims(d);
  return t;
}

class EveryType : public testing::TestWithParam<DType> {};

/// The bytes in the file, written here from the format's rules, independently of the reader.
TEST_P(EveryType, RawAndTypedFieldsGiveTheSame) {
  const DType dtype = GetParam();
  std::mt19937 rng(seed());
  const Tensor want =
      random_tensor(rng, dtype, Shape{3, 3});  // an odd number: packed types need padding
  const auto memory = want.blob->bytes();
  std::string raw;
  onnx::TensorProto typed = empty(dtype, {3, 3});
  const int bits = file_bits(dtype);
  if (bits < 8) {
    for (std::size_t i = 0; i < 9; i++) {
      const std::size_t per_byte = 8 / static_cast<std::size_t>(bits);
      if (i % per_byte == 0) raw += '\0';
      const unsigned code = static_cast<unsigned>(memory[i]) & ((1u << bits) - 1);
      raw.back() = static_cast<char>(static_cast<unsigned char>(raw.back()) |
                                     code << (i % per_byte * static_cast<unsigned>(bits)));
    }
    for (const char c : raw) typed.add_int32_data(static_cast<unsigned char>(c));
  } else {
    raw.assign(reinterpret_cast<const char*>(memory.data()), memory.size());
    visit_type(AllTypes{}, dtype, [&]<class T>() {
      for (const T& x : want.values<T>()) {
        if constexpr (std::is_same_v<T, float>)
          typed.add_float_data(x);
        else if constexpr (std::is_same_v<T, double>)
          typed.add_double_data(x);
        else if constexpr (std::is_same_v<T, std::int64_t>)
          typed.add_int64_data(x);
        else if constexpr (std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::uint64_t>)
          typed.add_uint64_data(x);
        else if constexpr (std::is_integral_v<T>)
          typed.add_int32_data(x);
        else if constexpr (requires { x.code; })
          typed.add_int32_data(static_cast<int>(x.code));
      }
    });
  }
  onnx::TensorProto packed = empty(dtype, {3, 3});
  packed.set_raw_data(raw);
  EXPECT_EQ(read(packed), want);
  EXPECT_EQ(read(typed), want);
  packed.mutable_raw_data()->push_back('\0');
  EXPECT_THROW(read(packed), Error);
  packed.mutable_raw_data()->resize(raw.size() - 1);
  EXPECT_THROW(read(packed), Error);
}

std::vector<DType> stored_types() {
  std::vector<DType> out;
  for (int i = 1; i < dtype_count; i++)
    if (type_set::any.has(static_cast<DType>(i))) out.push_back(static_cast<DType>(i));
  return out;
}
INSTANTIATE_TEST_SUITE_P(OnnxTensor, EveryType, testing::ValuesIn(stored_types()),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST(OnnxTensor, FourBitCodesFirstElementLow) {
  onnx::TensorProto t = empty(DType::i4, {3});
  t.set_raw_data(std::string("\x81\x07", 2));
  EXPECT_THAT(read(t).values<std::int8_t>(), testing::ElementsAre(1, -8, 7));
  t.set_data_type(static_cast<int>(DType::u2));
  t.set_dims(0, 5);
  t.set_raw_data(std::string("\xe4\x02", 2));
  EXPECT_THAT(read(t).values<std::int8_t>(), testing::ElementsAre(0, 1, 2, 3, 2));
}

TEST(OnnxTensor, RefusesWhatItCannotHold) {
  EXPECT_THROW(read(empty(DType::f32, {1, 1, 1, 1, 1, 1, 1, 1, 1})), Error);
  EXPECT_THROW(read(empty(DType::string, {0})), Error);
  EXPECT_THROW(read(empty(DType::f32, {std::int64_t{1} << 32, std::int64_t{1} << 32, 4})), Error);
  EXPECT_EQ(read(empty(DType::f32, {0, 5})).elements(), 0);
}

/// A model whose weight lies in a file.
struct External : testing::Test {
  TemporaryFolder folder;
  OnnxModel m;
  onnx::TensorProto* w = nullptr;
  static constexpr const char* secret = "hush-hush-secret";

  External() {
    input(m.graph(), "x", {4});
    w = m.graph().add_initializer();
    *w = floats("w", {4}, {});
    w->set_data_location(1);
    node(m.graph(), "Add", {"x", "w"}, {"y"});
    output(m.graph(), "y");
    set("location", "data.bin");
    set("offset", "8");
    const float values[] = {0, 0, 1, 2, 3, 4};
    std::ofstream(folder.path() / "data.bin")
        .write(reinterpret_cast<const char*>(values), sizeof values);
    fs::create_directories(folder.path() / "model" / "sub");
  }
  void set(const std::string& key, const std::string& value) {
    for (auto& pair : *w->mutable_external_data())
      if (pair.key() == key) return pair.set_value(value);
    auto* pair = w->add_external_data();
    pair->set_key(key);
    pair->set_value(value);
  }
  std::string refusal(const std::string& location, const fs::path& inside = {}) {
    set("location", location);
    set("offset", "0");
    const std::string text = m.error({}, (folder.path() / inside).string());
    EXPECT_EQ(text.find("hush"), std::string::npos) << text;
    return text;
  }
  fs::path put_secret(const fs::path& where) {
    std::ofstream(folder.path() / where) << secret;
    return folder.path() / where;
  }
};

TEST_F(External, IsRead) {
  const ReadResult r = m.read({}, folder.path().string());
  EXPECT_THAT(r.graph.constant(r.graph.nodes[0].inputs[1])->values<float>(),
              testing::ElementsAre(1, 2, 3, 4));
  set("length", "16");
  set("checksum", "0123");
  EXPECT_NO_THROW(m.read({}, folder.path().string()));
  set("location", "./model/../data.bin");
  EXPECT_THROW(m.read({}, folder.path().string()), Error);
}

TEST_F(External, OffsetsNeedNoAlignment) {
  std::ofstream file(folder.path() / "odd.bin", std::ios::binary);
  const float values[] = {1, 2, 3, 4};
  file << "x";
  file.write(reinterpret_cast<const char*>(values), sizeof values);
  file.close();
  set("location", "odd.bin");
  set("offset", "1");
  const ReadResult r = m.read({}, folder.path().string());
  EXPECT_THAT(r.graph.constant(r.graph.nodes[0].inputs[1])->values<float>(),
              testing::ElementsAre(1, 2, 3, 4));
}

TEST_F(External, OnlyInsideTheFolder) {
  put_secret("secret.txt");
  EXPECT_THAT(refusal((folder.path() / "secret.txt").string(), "model"),
              HasSubstr("the path is absolute"));
  EXPECT_THAT(refusal("../secret.txt", "model"), HasSubstr("'..'"));
  EXPECT_THAT(refusal("sub/../../secret.txt", "model"), HasSubstr("'..'"));
  EXPECT_THAT(refusal("..\\secret.txt", "model"), HasSubstr("backslash"));
  EXPECT_THAT(refusal("", "model"), HasSubstr("not named"));
  EXPECT_THAT(refusal(".", "model"), HasSubstr("not named"));
  EXPECT_THAT(refusal("absent.bin", "model"), HasSubstr("cannot open"));
  EXPECT_THAT(refusal("../secret.txt", "model"),
              HasSubstr("copy the data file itself into the folder"));
}

TEST_F(External, NoLinksAndNoDevices) {
  const fs::path secret_file = put_secret("secret.txt");
  const fs::path inside = folder.path() / "model";
  fs::create_symlink(secret_file, inside / "link");
  EXPECT_THAT(refusal("link", "model"), HasSubstr("is a link"));
  fs::create_directory_symlink(folder.path(), inside / "up");
  EXPECT_THAT(refusal("up/secret.txt", "model"), HasSubstr("is a link"));
  fs::create_hard_link(secret_file, inside / "hard");
  EXPECT_THAT(refusal("hard", "model"), HasSubstr("hard link"));
  ASSERT_EQ(::mkfifo((inside / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(refusal("pipe", "model"), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal("sub", "model"), HasSubstr("not a regular file"));
}

TEST_F(External, SizesAreChecked) {
  EXPECT_THAT((set("offset", "12"), m.error({}, folder.path().string())),
              HasSubstr("which has 24"));
  EXPECT_THAT((set("offset", "18446744073709551615"), m.error({}, folder.path().string())),
              HasSubstr("which has 24"));
  EXPECT_THAT((set("offset", "-1"), m.error({}, folder.path().string())),
              HasSubstr("not a number"));
  set("offset", "0");
  EXPECT_THAT((set("length", "15"), m.error({}, folder.path().string())), HasSubstr("16 expected"));
  EXPECT_THAT((set("length", "16"), set("colour", "red"), m.error({}, folder.path().string())),
              HasSubstr("no key 'colour'"));
  EXPECT_THAT(m.error({}, ""), HasSubstr("no key"));
}

}  // namespace
}  // namespace longshore::tests::onnx_tensor_test
