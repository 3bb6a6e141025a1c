// Files of bare float32 numbers, little-endian, in records of one size: samples, and outputs of a
// float model that were kept.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/blob.hpp"

namespace longshore {

/// The records of such a file, all of them finite.
struct FloatRecords {
  SharedBlob blob;
  std::size_t count = 0, elements = 0;  // records, and numbers in each

  std::vector<float> record(std::size_t i) const;
};

/// Throws where the file is empty or does not end with a record of so many elements (`what` says
/// what a record is), and where a number is not finite, naming record and element.
FloatRecords read_float_records(const std::string& path, std::int64_t elements,
                                std::string_view what);

}  // namespace longshore
