#include "measure/float_records.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "base/file.hpp"

namespace longshore {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

std::vector<float> FloatRecords::record(std::size_t i) const {
  std::vector<float> out(elements);
  // Bytes of a file need not be aligned.
  std::memcpy(out.data(), blob->bytes().data() + i * elements * sizeof(float),
              elements * sizeof(float));
  return out;
}

FloatRecords read_float_records(const std::string& path, std::int64_t elements,
                                std::string_view what) {
  Result<SharedBlob> file = read_file(path);
  require(file.status(), path);
  FloatRecords out{*file, 0, static_cast<std::size_t>(elements)};
  const std::size_t numbers = out.blob->size() / sizeof(float);
  if (elements < 1 || numbers == 0 || out.blob->size() % sizeof(float) != 0 ||
      numbers % out.elements != 0)
    fail(Code::bad_argument, path, ": expected records of ", elements, " float32 numbers (", what,
         "), found ", out.blob->size(), " bytes");
  out.count = numbers / out.elements;
  for (std::size_t i = 0; i < out.count; i++) {
    const std::vector<float> record = out.record(i);
    for (std::size_t k = 0; k < record.size(); k++)
      if (!std::isfinite(record[k]))
        fail(Code::bad_argument, path, ": record ", i, ", element ", k,
             ": expected a finite number, found ", record[k]);
  }
  return out;
}

}  // namespace longshore
