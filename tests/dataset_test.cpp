// Data sets: made here in small, so that what is read back is known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

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

TEST_F(Datasets, FoldersAreClasses) {
  for (const char* name : {"cat/b.png", "cat/a.png", "dog/c.png"}) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << name;
  }
  DatasetRequest request;
  request.read_file = [](const std::string& file, const TensorType&) {
    return make_int(static_cast<std::int64_t>(file.size()));
  };
  const Dataset d = open_dataset(folder_.string(), request);
  ASSERT_EQ(d.count, 3u);
  EXPECT_EQ(d.classes, 2);
  EXPECT_EQ(d.label(0), 0);
  EXPECT_EQ(d.label(2), 1);
  EXPECT_THAT(d.sample_name(0), testing::EndsWith("cat/a.png"));
  EXPECT_TRUE(d.input(2, {}).present());
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
