#include <zlib.h>

#include <memory>

#include "base/error.hpp"
#include "measure/dataset.hpp"

namespace longshore::datasets {
namespace {

/// Where Debian's package dataset-fashion-mnist puts its files.
constexpr std::string_view usual_folder = "/usr/share/datasets/fashion-mnist";
constexpr std::size_t largest_file = std::size_t{1} << 30;

/// The bytes of a gzip file after an IDX header with these dims (0: any).
struct Idx {
  std::vector<std::uint32_t> dims;
  std::vector<unsigned char> bytes;
};

Idx read_idx(const std::string& path, std::size_t rank) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file)
    fail(Code::io, path,
         ": cannot be opened; install the Debian package dataset-fashion-mnist or give its folder "
         "as fashion-mnist:FOLDER");
  const auto read = [&](void* to, std::size_t size) {
    if (gzread(file.get(), to, static_cast<unsigned>(size)) != static_cast<int>(size))
      fail(Code::io, path, ": ends before its ", size, " bytes, or is no gzip file");
  };
  unsigned char head[4];
  read(head, 4);
  if (head[0] != 0 || head[1] != 0 || head[2] != 8 || head[3] != rank)
    fail(Code::bad_argument, path, ": expected an IDX file of bytes with ", rank, " dimensions");
  Idx out;
  std::size_t size = 1;
  for (std::size_t i = 0; i < rank; i++) {
    unsigned char b[4];
    read(b, 4);
    out.dims.push_back(static_cast<std::uint32_t>(b[0]) << 24 |
                       static_cast<std::uint32_t>(b[1]) << 16 |
                       static_cast<std::uint32_t>(b[2]) << 8 | b[3]);
    if (out.dims.back() != 0 && size > largest_file / out.dims.back())
      fail(Code::exhausted, path, ": more than ", largest_file, " bytes");
    size *= out.dims.back();
  }
  out.bytes.resize(size);
  read(out.bytes.data(), size);
  return out;
}

Dataset open(const DatasetRequest& request) {
  const std::string folder(request.path.empty() ? usual_folder : std::string_view(request.path));
  const std::string half = folder + (request.training ? "/train" : "/t10k");
  const auto images = std::make_shared<const Idx>(read_idx(half + "-images-idx3-ubyte.gz", 3));
  const auto labels = std::make_shared<const Idx>(read_idx(half + "-labels-idx1-ubyte.gz", 1));
  if (images->dims[0] != labels->dims[0])
    fail(Code::bad_argument, half, ": ", images->dims[0], " images and ", labels->dims[0],
         " labels");
  const std::size_t pixels = std::size_t{images->dims[1]} * images->dims[2];
  Dataset out;
  out.name = "fashion-mnist";
  out.count = images->dims[0];
  out.classes = 10;
  out.input = [images, pixels](std::size_t i, const TensorType& input) {
    const Shape shape =
        fitting_shape(input, static_cast<std::int64_t>(pixels),
                      str("grey images of ", images->dims[1], "x", images->dims[2], " in 0..1"));
    std::vector<float> values(pixels);
    for (std::size_t k = 0; k < pixels; k++)
      values[k] = static_cast<float>(images->bytes[i * pixels + k]) / 255;
    return make_floats(shape, values);
  };
  out.label = [labels](std::size_t i) { return static_cast<int>(labels->bytes[i]); };
  out.sample_name = [half](std::size_t i) { return str(half, " image ", i); };
  return out;
}

}  // namespace

extern constinit const DatasetFormat dataset_fashion_mnist = {
    .name = "fashion-mnist",
    .doc =
        "28x28 grey pictures of clothes in ten classes, pixel / 255: 60,000 for training, 10,000 "
        "for tests.",
    .open = open,
};

}  // namespace longshore::datasets
