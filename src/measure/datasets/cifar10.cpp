#include <algorithm>

#include "base/error.hpp"
#include "base/file.hpp"
#include "measure/dataset.hpp"

namespace longshore::datasets {
namespace {

constexpr std::int64_t side = 32, plane = side * side, pixels = 3 * plane;
constexpr std::size_t record = 1 + pixels;

Dataset open(const DatasetRequest& request) {
  if (request.path.empty())
    fail(Code::bad_argument, "the data set cifar10 needs a file: cifar10:FILE");
  Result<SharedBlob> file = read_file(request.path);
  require(file.status(), request.path);
  const SharedBlob blob = *file;
  if (blob->size() == 0 || blob->size() % record != 0)
    fail(Code::bad_argument, request.path, ": expected records of ", record,
         " bytes (a label, then red, green, blue), found ", blob->size(), " bytes");
  Dataset out;
  out.name = "cifar10";
  out.count = blob->size() / record;
  out.classes = 10;
  out.input = [blob](std::size_t i, const TensorType& input) {
    const Shape shape = fitting_shape(input, pixels, "colour images of 3x32x32 in 0..255");
    const bool channels_last = shape.rank == 4 && shape[3] == 3 && shape[1] == side;
    const auto* bytes =
        reinterpret_cast<const unsigned char*>(blob->bytes().data()) + i * record + 1;
    std::vector<float> values(static_cast<std::size_t>(pixels));
    for (std::int64_t c = 0; c < 3; c++)
      for (std::int64_t p = 0; p < plane; p++)
        values[static_cast<std::size_t>(channels_last ? p * 3 + c : c * plane + p)] =
            static_cast<float>(bytes[c * plane + p]);
    return make_floats(shape, values);
  };
  out.label = [blob](std::size_t i) { return static_cast<int>(blob->bytes()[i * record]); };
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
