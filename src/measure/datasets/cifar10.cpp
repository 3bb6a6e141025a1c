#include "measure/cifar10_file.hpp"

#include "base/error.hpp"
#include "measure/dataset.hpp"

namespace longshore::datasets {
namespace {

Dataset open(const DatasetRequest& request) {
  const Cifar10File file = read_cifar10(request.path, "cifar10");
  Dataset out;
  out.name = "cifar10";
  out.count = file.count;
  out.classes = 10;
  out.input = [file](std::size_t i, const TensorType& input) {
    const Shape shape =
        fitting_shape(input, Cifar10File::pixels, "colour images of 3x32x32 in 0..255");
    const unsigned char* planes = file.planes(i);
    return picture_tensor(shape, Cifar10File::side, [&](std::int64_t c, std::int64_t p) {
      return static_cast<float>(planes[c * Cifar10File::plane + p]);
    });
  };
  out.label = [file](std::size_t i) { return file.label(i); };
  out.sample_name = [path = request.path](std::size_t i) { return str(path, " record ", i); };
  return out;
}

}  // namespace

extern constinit const DatasetFormat dataset_cifar10 = {
    .name = "cifar10",
    .doc =
        "32x32 colour pictures in ten classes, bytes as floats 0..255: a file of records label, R, "
        "G, B planes.",
    .open = open,
};

}  // namespace longshore::datasets
