// Data sets: made here in small, so that what is read back is known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.hpp"
#include "measure/dataset.hpp"

namespace longshore::tests::dataset_test {
namespace {

class Datasets : public testing::Test {
 protected:
  Datasets()
      : folder_(std::filesystem::temp_directory_path() /
                ("longshore_datasets_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Datasets() override { std::filesystem::remove_all(folder_); }
  void gzip(const std::string& name, const std::vector<unsigned char>& bytes) const {
    const gzFile f = gzopen((folder_ / name).c_str(), "wb");
    gzwrite(f, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(f);
  }
  void fashion(unsigned char images, unsigned char labels) const {
    std::vector<unsigned char> pictures = {0, 0, 8, 3, 0, 0, 0, images, 0, 0, 0, 2, 0, 0, 0, 3};
    for (int i = 0; i < images * 6; i++) pictures.push_back(static_cast<unsigned char>(i * 5));
    gzip("t10k-images-idx3-ubyte.gz", pictures);
    std::vector<unsigned char> classes = {0, 0, 8, 1, 0, 0, 0, labels};
    for (int i = 0; i < labels; i++) classes.push_back(static_cast<unsigned char>(9 - i));
    gzip("t10k-labels-idx1-ubyte.gz", classes);
  }
  void write(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      std::filesystem::create_directories((folder_ / name).parent_path());
      std::ofstream(folder_ / name) << name;
    }
  }
  static DatasetRequest pictures() {
    DatasetRequest request;
    request.read_file = [](const std::string& file, const TensorType&) {
      return make_int(static_cast<std::int64_t>(file.size()));
    };
    return request;
  }
  std::string spec(const std::string& format) const { return format + ":" + folder_.string(); }
  std::filesystem::path folder_;
};

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST_F(Datasets, FashionMnistIsGzippedIdx) {
  fashion(2, 2);
  const Dataset d = open_dataset(spec("fashion-mnist"), {});
  ASSERT_EQ(d.count, 2u);
  EXPECT_EQ(d.label(0), 9);
  EXPECT_EQ(d.label(1), 8);
  const Tensor t = d.input(1, TensorType(DType::f32, Dims{Dim::named("N"), 1, 2, 3}));
  EXPECT_EQ(t.shape, (Shape{1, 1, 2, 3}));
  for (std::size_t i = 0; i < 6; i++)
    EXPECT_EQ(t.values<float>()[i], static_cast<float>((6 + i) * 5) / 255);
  EXPECT_THAT(message_of([&] {
                d.input(0, TensorType(DType::f32, Dims{1, 3, 2, 3}));
              }),
              testing::HasSubstr("2x3"));
}

TEST_F(Datasets, FashionMnistRefusesBrokenFiles) {
  fashion(2, 3);
  EXPECT_THAT(message_of([&] { open_dataset(spec("fashion-mnist"), {}); }),
              testing::HasSubstr("2 images and 3 labels"));
  gzip("t10k-images-idx3-ubyte.gz", {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2});
  EXPECT_THAT(message_of([&] { open_dataset(spec("fashion-mnist"), {}); }),
              testing::HasSubstr("ends before"));
  gzip("t10k-images-idx3-ubyte.gz",
       {0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255});
  EXPECT_THAT(message_of([&] { open_dataset(spec("fashion-mnist"), {}); }),
              testing::HasSubstr("more than"));
  EXPECT_THAT(message_of([&] { open_dataset("fashion-mnist:/nowhere", {}); }),
              testing::HasSubstr("dataset-fashion-mnist"));
}

TEST_F(Datasets, CifarIsRecordsOfALabelAndThreePlanes) {
  std::string bytes;
  for (int r = 0; r < 2; r++) {
    bytes += static_cast<char>(r + 3);
    for (int i = 0; i < 3072; i++) bytes += static_cast<char>((i * 7 + r) % 256);
  }
  std::ofstream(folder_ / "data.bin", std::ios::binary) << bytes;
  const std::string path = "cifar10:" + (folder_ / "data.bin").string();
  const Dataset d = open_dataset(path, {});
  ASSERT_EQ(d.count, 2u);
  EXPECT_EQ(d.label(1), 4);
  const Tensor t = d.input(1, TensorType(DType::f32, Dims{1, 3, 32, 32}));
  EXPECT_EQ(t.values<float>()[2000], static_cast<float>((2000 * 7 + 1) % 256));
  const Tensor last = d.input(1, TensorType(DType::f32, Dims{1, 32, 32, 3}));
  EXPECT_EQ(last.values<float>()[100 * 3 + 2], t.values<float>()[2 * 1024 + 100]);
  std::ofstream(folder_ / "data.bin", std::ios::binary) << bytes.substr(1);
  EXPECT_THAT(message_of([&] { open_dataset(path, {}); }),
              testing::HasSubstr("records of 3073 bytes"));
}

/// What the format's description says, for one plane: along each axis (in[i-1] + 2 in[i]) / 3,
/// in[i], (2 in[i] + in[i+1]) / 3; the sum of both axes, plus 4, over 9.
std::vector<int> three_times(const std::vector<int>& plane) {
  const auto rows = [](const std::vector<int>& in, int height, int width) {
    std::vector<int> out;
    for (int y = 0; y < height; y++)
      for (int phase = 0; phase < 3; phase++)
        for (int x = 0; x < width; x++) {
          const auto at = [&](int row) {
            return in[static_cast<std::size_t>(std::clamp(row, 0, height - 1) * width + x)];
          };
          out.push_back(phase == 0   ? at(y - 1) + 2 * at(y)
                        : phase == 1 ? 3 * at(y)
                                     : 2 * at(y) + at(y + 1));
        }
    return out;
  };
  const auto transposed = [](const std::vector<int>& in, int height, int width) {
    std::vector<int> out;
    for (int x = 0; x < width; x++)
      for (int y = 0; y < height; y++) out.push_back(in[static_cast<std::size_t>(y * width + x)]);
    return out;
  };
  std::vector<int> out = transposed(rows(transposed(rows(plane, 32, 32), 96, 32), 32, 96), 96, 96);
  for (int& x : out) x = (x + 4) / 9;
  return out;
}

TEST_F(Datasets, Cifar10x3IsEnlargedInIntegers) {
  std::string bytes;
  std::vector<int> planes[3];
  for (int r = 0; r < 2; r++) {
    bytes += static_cast<char>(9);
    for (int i = 0; i < 3072; i++) {
      const int value = (i * i * 7 + i * 13 + r * 101) % 256;
      bytes += static_cast<char>(value);
      if (r == 1) planes[i / 1024].push_back(value);
    }
  }
  std::ofstream(folder_ / "data.bin", std::ios::binary) << bytes;
  const std::string path = "cifar10x3:" + (folder_ / "data.bin").string();
  const Dataset d = open_dataset(path, {});
  ASSERT_EQ(d.count, 2u);
  EXPECT_FALSE(d.label);
  const Tensor first = d.input(1, TensorType(DType::f32, Dims{1, 3, 96, 96})),
               last = d.input(1, TensorType(DType::f32, Dims{1, 96, 96, 3}));
  for (std::size_t c = 0; c < 3; c++) {
    const std::vector<int> want = three_times(planes[c]);
    for (std::size_t p = 0; p < want.size(); p++) {
      ASSERT_EQ(first.values<float>()[c * 9216 + p], static_cast<float>(want[p]) / 255) << p;
      ASSERT_EQ(last.values<float>()[p * 3 + c], static_cast<float>(want[p]) / 255) << p;
    }
  }
  EXPECT_THAT(message_of([&] {
                d.input(0, TensorType(DType::f32, Dims{1, 3, 32, 32}));
              }),
              testing::HasSubstr("3x96x96"));
  EXPECT_THAT(message_of([] { open_dataset("cifar10x3", {}); }),
              testing::HasSubstr("cifar10x3:FILE"));
}

TEST_F(Datasets, F32IsRecordsOfTheInputsSize) {
  const std::filesystem::path file = folder_ / "data.f32";
  const auto write = [&](const std::vector<float>& numbers, std::size_t bytes_more = 0) {
    std::ofstream out(file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(numbers.data()),
              static_cast<std::streamsize>(numbers.size() * sizeof(float)));
    out << std::string(bytes_more, 'x');
  };
  DatasetRequest request;
  request.input = TensorType(DType::f32, Dims{Dim::named("N"), 2, 2});
  const auto message = [&] {
    return message_of([&] { open_dataset("f32:" + file.string(), request); });
  };
  write({0, 1, 2, 3, 4, 5, 6, -7.5f});
  const Dataset d = open_dataset("f32:" + file.string(), request);
  ASSERT_EQ(d.count, 2u);
  EXPECT_FALSE(d.label);
  const Tensor t = d.input(1, request.input);
  EXPECT_EQ(t.shape, (Shape{1, 2, 2}));
  EXPECT_EQ(t.values<float>()[0], 4);
  EXPECT_EQ(t.values<float>()[3], -7.5f);
  EXPECT_THAT(d.sample_name(1), testing::EndsWith("data.f32 record 1"));

  write({});
  EXPECT_THAT(message(), testing::HasSubstr("records of 4 float32 numbers (an input of f32["));
  EXPECT_THAT(message(), testing::HasSubstr("found 0 bytes"));
  write({1, 2, 3, 4, 5, 6});
  EXPECT_THAT(message(), testing::HasSubstr("found 24 bytes"));
  write({1, 2, 3, 4}, 3);
  EXPECT_THAT(message(), testing::HasSubstr("found 19 bytes"));
  write({1, 2, 3, 4, 5, 6, std::nanf(""), 8});
  EXPECT_THAT(message(), testing::HasSubstr("data.f32: record 1, element 2: expected a finite "));
  write({1, 2, 3, -INFINITY});
  EXPECT_THAT(message(), testing::HasSubstr("record 0, element 3"));
  request.input = TensorType(DType::i64, Dims{2, 2});
  EXPECT_THAT(message(), testing::HasSubstr("the model takes i64[2, 2]"));
  request.input = TensorType(DType::f32, Dims{std::int64_t{1} << 40, std::int64_t{1} << 40});
  EXPECT_THAT(message(), testing::HasSubstr("the model takes f32["));
  request.input = TensorType(DType::f32, Dims{0, 4});
  EXPECT_THAT(message(), testing::HasSubstr("records of 0 float32 numbers"));
  EXPECT_THAT(message_of([] { open_dataset("f32", {}); }), testing::HasSubstr("f32:FILE"));
  EXPECT_THAT(message_of([&] {
                open_dataset("f32:/nowhere.f32", {.input = TensorType(DType::f32, Dims{4})});
              }),
              testing::HasSubstr("/nowhere.f32"));
}

TEST_F(Datasets, FoldersAreClasses) {
  write({"cat/b.png", "cat/a.png", "dog/c.png"});
  const DatasetRequest request = pictures();
  const Dataset d = open_dataset(folder_.string(), request);
  ASSERT_EQ(d.count, 3u);
  EXPECT_EQ(d.classes, 2);
  EXPECT_EQ(d.label(0), 0);
  EXPECT_EQ(d.label(2), 1);
  EXPECT_THAT(d.sample_name(0), testing::EndsWith("cat/a.png"));
  EXPECT_TRUE(d.input(2, {}).present());
  EXPECT_EQ(d.named_classes, (std::map<std::string, int>{{"cat", 0}, {"dog", 1}}));
  check_classes(d, 2);
  // In the order of two names nothing says which of a thousand classes they are.
  EXPECT_THAT(message_of([&] { check_classes(d, 1000); }), testing::HasSubstr("--labels"));
}

TEST_F(Datasets, FoldersMayBeNumbersOfClasses) {
  write({"7/b.png", "010/a.png"});
  const Dataset d = open_dataset(folder_.string(), pictures());
  ASSERT_EQ(d.count, 2u);
  EXPECT_EQ(d.label(0), 10);  // in the order of names
  EXPECT_EQ(d.label(1), 7);
  EXPECT_TRUE(d.named_classes.empty());
  check_classes(d, 11);
  check_classes(d, 1000);
  EXPECT_THAT(message_of([&] { check_classes(d, 10); }),
              testing::HasSubstr("labels go up to 10, the model has 10 scores"));
}

TEST_F(Datasets, FoldersMayBeLinesOfALabelsFile) {
  write({"cat/b.png", "dog/a.png"});
  DatasetRequest request = pictures();
  request.labels = {"bird", "dog", "cat"};
  const Dataset d = open_dataset(folder_.string(), request);
  EXPECT_EQ(d.label(0), 2);
  EXPECT_EQ(d.label(1), 1);
  EXPECT_EQ(d.classes, 3);
  check_classes(d, 3);
  EXPECT_THAT(message_of([&] { check_classes(d, 4); }), testing::HasSubstr("3 classes"));
  request.labels = {"bird", "dog"};
  EXPECT_THAT(message_of([&] { open_dataset(folder_.string(), request); }),
              testing::HasSubstr("no line of the 2 in --labels is 'cat'"));
  request.labels = {"cat", "dog", "cat"};
  EXPECT_THAT(message_of([&] { open_dataset(folder_.string(), request); }),
              testing::HasSubstr("lines 1 and 3 in --labels are both 'cat'"));
}

TEST_F(Datasets, AFolderOfPicturesHasNoLabels) {
  write({"b.png", "a.png"});
  const Dataset d = open_dataset(folder_.string(), pictures());
  EXPECT_EQ(d.count, 2u);
  EXPECT_FALSE(d.label);
  EXPECT_THAT(d.sample_name(1), testing::EndsWith("b.png"));
}

TEST_F(Datasets, PickedSamplesFavourNoClass) {
  EXPECT_EQ(pick_samples(3, 5), (std::vector<std::size_t>{0, 1, 2}));
  const std::vector<std::size_t> some = pick_samples(10000, 1000);
  EXPECT_EQ(some, pick_samples(10000, 1000));
  EXPECT_EQ(std::set<std::size_t>(some.begin(), some.end()).size(), 1000u);
  std::vector<int> interleaved(10), sorted(10);
  for (std::size_t i : some) interleaved[i % 10]++, sorted[i / 1000]++;
  for (int k = 0; k < 10; k++) {
    EXPECT_NEAR(interleaved[static_cast<std::size_t>(k)], 100, 40);
    EXPECT_NEAR(sorted[static_cast<std::size_t>(k)], 100, 40);
  }
}

TEST_F(Datasets, AnUnknownOneNamesThoseThatExist) {
  EXPECT_THAT(message_of([] { open_dataset("imagenet", {}); }),
              testing::HasSubstr("fashion-mnist"));
  EXPECT_TRUE(names_dataset("cifar10:x"));
  EXPECT_FALSE(names_dataset("cifar10x"));
  EXPECT_THAT(message_of([&] { open_dataset(folder_.string(), {}); }),
              testing::HasSubstr("one for each class"));
}

}  // namespace
}  // namespace longshore::tests::dataset_test
