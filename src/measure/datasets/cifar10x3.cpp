#include <algorithm>

#include "base/error.hpp"
#include "measure/cifar10_file.hpp"
#include "measure/dataset.hpp"

namespace longshore::datasets {
namespace {

constexpr std::int64_t side = 3 * Cifar10File::side;

/// Along one axis, three times each: (in[i-1] + 2 in[i]) / 3, in[i], (2 in[i] + in[i+1]) / 3, with
/// the edge repeated. Both axes are summed in integers and rounded once.
int enlarged(const unsigned char* plane, std::int64_t y, std::int64_t x) {
  struct Taps {
    std::int64_t near, far;  // weights of 2 and 1
  };
  const auto taps = [](std::int64_t at) -> Taps {
    const std::int64_t i = at / 3;
    return {i, std::clamp<std::int64_t>(i + at % 3 - 1, 0, Cifar10File::side - 1)};
  };
  const Taps rows = taps(y), columns = taps(x);
  const auto row = [&](std::int64_t r) {
    const unsigned char* at = plane + r * Cifar10File::side;
    return 2 * at[columns.near] + at[columns.far];
  };
  return (2 * row(rows.near) + row(rows.far) + 4) / 9;
}

Dataset open(const DatasetRequest& request) {
  const Cifar10File file = read_cifar10(request.path, "cifar10x3");
  Dataset out;
  out.name = "cifar10x3";
  out.count = file.count;
  out.input = [file](std::size_t i, const TensorType& input) {
    const Shape shape = fitting_shape(input, 3 * side * side, "colour images of 3x96x96 in 0..1");
    const unsigned char* planes = file.planes(i);
    return picture_tensor(shape, side, [&](std::int64_t c, std::int64_t p) {
      const int value = enlarged(planes + c * Cifar10File::plane, p / side, p % side);
      return static_cast<float>(value) / 255;
    });
  };
  out.sample_name = [path = request.path](std::size_t i) { return str(path, " record ", i); };
  return out;
}

}  // namespace

extern constinit const DatasetFormat dataset_cifar10x3 = {
    .name = "cifar10x3",
    .doc =
        "The pictures of cifar10 enlarged to 96x96, pixel / 255, for models with other classes: "
        "without labels.",
    .open = open,
};

}  // namespace longshore::datasets
