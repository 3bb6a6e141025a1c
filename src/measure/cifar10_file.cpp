#include "measure/cifar10_file.hpp"

#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"

namespace longshore {

int Cifar10File::label(std::size_t i) const { return static_cast<int>(blob->bytes()[i * record]); }

const unsigned char* Cifar10File::planes(std::size_t i) const {
  return reinterpret_cast<const unsigned char*>(blob->bytes().data()) + i * record + 1;
}

Cifar10File read_cifar10(const std::string& path, std::string_view format) {
  if (path.empty())
    fail(Code::bad_argument, "the data set ", format, " needs a file: ", format, ":FILE");
  Result<SharedBlob> file = read_file(path);
  require(file.status(), path);
  Cifar10File out{*file, (*file)->size() / Cifar10File::record};
  if (out.count == 0 || out.blob->size() % Cifar10File::record != 0)
    fail(Code::bad_argument, path, ": expected records of ", Cifar10File::record,
         " bytes (a label, then red, green, blue), found ", out.blob->size(), " bytes");
  return out;
}

Tensor picture_tensor(const Shape& shape, std::int64_t side,
                      const std::function<float(std::int64_t, std::int64_t)>& at) {
  const bool channels_last = shape.rank == 4 && shape[3] == 3 && shape[1] == side;
  const std::int64_t plane = side * side;
  std::vector<float> values(static_cast<std::size_t>(3 * plane));
  for (std::int64_t c = 0; c < 3; c++)
    for (std::int64_t p = 0; p < plane; p++)
      values[static_cast<std::size_t>(channels_last ? p * 3 + c : c * plane + p)] = at(c, p);
  return make_floats(shape, values);
}

}  // namespace longshore
