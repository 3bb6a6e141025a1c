#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "base/blob.hpp"

namespace longshore {

/// The data files beside a model. A name may only lead to a regular file inside the model's folder:
/// no absolute path, no "..", no link of any kind, no device. Files are mapped once.
class ExternalData {
 public:
  /// An empty folder means that there are none.
  explicit ExternalData(std::string folder) : folder_(std::move(folder)) {}

  /// The bytes [offset, offset + size) of the file. Throws Error, saying how to go on; `what` names
  /// the tensor. No message holds a byte of a file.
  SharedBlob bytes(const std::string& location, std::uint64_t offset, std::uint64_t size,
                   const std::string& what);

 private:
  SharedBlob open(const std::string& location, const std::string& what) const;

  std::string folder_;
  std::map<std::string, SharedBlob> files_;
};

}  // namespace longshore
