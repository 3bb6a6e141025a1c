#include "base/error.hpp"
#include "ir/graph.hpp"
#include "measure/dataset.hpp"
#include "measure/float_records.hpp"

namespace longshore::datasets {
namespace {

Dataset open(const DatasetRequest& request) {
  if (request.path.empty()) fail(Code::bad_argument, "the data set f32 needs a file: f32:FILE");
  const Shape shape = sample_shape(request.input, "records of float32 numbers");
  const FloatRecords file =
      read_float_records(request.path, shape.elements(), str("an input of ", print(request.input)));
  Dataset out;
  out.name = "f32";
  out.count = file.count;
  out.input = [file](std::size_t i, const TensorType& input) {
    return make_floats(fitting_shape(input, static_cast<std::int64_t>(file.elements),
                                     str("records of ", file.elements, " numbers")),
                       file.record(i));
  };
  out.sample_name = [path = request.path](std::size_t i) { return str(path, " record ", i); };
  return out;
}

}  // namespace

extern constinit const DatasetFormat dataset_f32 = {
    .name = "f32",
    .doc =
        "Inputs as they are: a file of float32 numbers, little-endian, one record of the input's "
        "size after the other, without labels.",
    .open = open,
};

}  // namespace longshore::datasets
