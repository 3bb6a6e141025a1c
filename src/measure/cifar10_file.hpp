// Files of CIFAR-10: records of a label, then red, green and blue planes of 32 by 32 bytes.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/blob.hpp"
#include "ir/type.hpp"

namespace longshore {

/// The records of such a file.
struct Cifar10File {
  static constexpr std::int64_t side = 32, plane = side * side, pixels = 3 * plane;
  static constexpr std::size_t record = 1 + pixels;

  SharedBlob blob;
  std::size_t count = 0;

  int label(std::size_t i) const;
  /// The three planes, one after the other.
  const unsigned char* planes(std::size_t i) const;
};

/// Throws where `path` is empty (`format` is for the message), cannot be read, or does not end with
/// a record.
Cifar10File read_cifar10(const std::string& path, std::string_view format);

/// A picture of three channels for an input of these dims, whichever side its channels stand on.
/// `at` gives the number of a channel's pixel.
Tensor picture_tensor(const Shape&, std::int64_t side,
                      const std::function<float(std::int64_t channel, std::int64_t pixel)>& at);

}  // namespace longshore
