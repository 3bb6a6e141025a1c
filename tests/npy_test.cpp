#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "onnx_model.hpp"
#include "random.hpp"
#include "write/npy.hpp"

namespace longshore::tests::npy_test {
namespace {

using testing::HasSubstr;

Tensor read(const std::string& bytes) {
  return read_npy(copy_blob(bytes.data(), bytes.size()), "x.npy");
}

/// A file as numpy 1.x wrote it; the header is padded as the version asks.
std::string file(std::string header, const std::string& data, int version = 1) {
  header += '\n';
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); i++)
    out += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return out + header + data;
}

TEST(Npy, ReadsWhatNumpyWrites) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  const std::string data(reinterpret_cast<const char*>(values), sizeof values);
  for (int version = 1; version <= 3; version++) {
    const Tensor t =
        read(file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", data, version));
    EXPECT_EQ(t, make_floats(Shape{2, 3}, values));
  }
  EXPECT_EQ(read(file("{'shape': (6,), 'fortran_order': False, 'descr': '<f4'}", data)),
            make_floats(Shape{6}, values));
  EXPECT_EQ(read(file("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", data)),
            make_floats(Shape{2, 3}, std::vector<float>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(read(file("{'descr': '>i2', 'fortran_order': False, 'shape': (), }",
                      std::string("\x01\x02", 2)))
                .values<std::int16_t>()[0],
            0x102);
  EXPECT_EQ(read(file("{'descr': '>i2', 'fortran_order': True, 'shape': (1, 2), }",
                      std::string("\x01\x02\x03\x04", 4)))
                .values<std::int16_t>()[1],
            0x304);
}

TEST(Npy, RefusesWithWords) {
  const auto error = [](const std::string& bytes) -> std::string {
    try {
      read(bytes);
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_THAT(error("\x93NUMPY"), HasSubstr("not a .npy"));
  EXPECT_THAT(error(file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "1234567")),
              HasSubstr("holds 7 bytes"));
  EXPECT_THAT(error(file("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", "")),
              HasSubstr("'|O'"));
  EXPECT_THAT(error(file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", "")),
              HasSubstr("records"));
  EXPECT_THAT(error(file("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", "")),
              HasSubstr("a dimension"));
  EXPECT_THAT(
      error(file("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }",
                 "")),
      HasSubstr("holds 0 bytes"));
  EXPECT_THAT(error(file("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }",
                         "1234")),
              HasSubstr("more than 8"));
  EXPECT_THAT(error(file("{'descr': '<f4'", "")), HasSubstr("expected"));
  EXPECT_THAT(error(file("{'descr': '<f4'}", "", 4)), HasSubstr("version 4"));
  std::string huge = file("{}", "");
  huge[8] = huge[9] = '\xff';
  EXPECT_THAT(error(huge), HasSubstr("are left"));
}

class NpyTypes : public testing::TestWithParam<DType> {};
TEST_P(NpyTypes, RoundTrip) {
  TemporaryFolder folder;
  std::mt19937 rng(seed());
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{0, 3}, Shape{1, 2, 3, 4}}) {
    const Tensor t = random_tensor(rng, GetParam(), shape);
    const std::string path = folder.path() / "t.npy";
    write_npy(path, t);
    EXPECT_EQ(read_tensor(path), t);
  }
}
INSTANTIATE_TEST_SUITE_P(Npy, NpyTypes,
                         testing::Values(DType::boolean, DType::i8, DType::u8, DType::i16,
                                         DType::u16, DType::i32, DType::u32, DType::i64, DType::u64,
                                         DType::f16, DType::f32, DType::f64),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST(Npy, TypesThatNumpyLacksAreWidened) {
  TemporaryFolder folder;
  const std::string path = folder.path() / "t.npy";
  const BFloat16 values[] = {BFloat16(1.5), BFloat16(-2)};
  write_npy(path, make_tensor<BFloat16>(DType::bf16, Shape{2}, values));
  EXPECT_EQ(read_tensor(path), make_floats(Shape{2}, std::vector<float>{1.5, -2}));
  const Int4 codes[] = {Int4(-8), Int4(7)};
  write_npy(path, make_tensor<Int4>(DType::i4, Shape{2}, codes));
  EXPECT_THAT(read_tensor(path).values<std::int8_t>(), testing::ElementsAre(-8, 7));
}

}  // namespace
}  // namespace longshore::tests::npy_test
