#pragma once
#include <string>
#include <vector>

#include "ir/graph.hpp"
#include "program/program.hpp"

namespace longshore {

/// What goes into a bundle.
struct BundleContents {
  Graph graph;  // the one that was compiled: optimised, perhaps quantised
  Program program;
  std::string target;    // text of the target file; empty for the CPU
  std::string choices;   // of compile/choices.hpp; may be empty
  std::string report;    // JSON; may be empty
  std::string pictures;  // how they are read, of read/image.hpp; empty: as is usual
};

/// The bytes of the bundle: equal contents give equal bytes.
std::vector<std::byte> bundle_bytes(const BundleContents&);

/// Writes the bundle whole or not at all. Throws Error.
void write_bundle(const std::string& path, const BundleContents&);

}  // namespace longshore
