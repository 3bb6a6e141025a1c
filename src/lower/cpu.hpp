#pragma once
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "ir/op.hpp"
#include "program/program.hpp"

namespace longshore::lower {

/// Collects what an NPU reads into one blob, 64-byte aligned, equal contents once.
class ConstantPool {
 public:
  /// The offset of the bytes in the blob.
  std::uint64_t add(std::span<const std::byte> bytes);
  std::uint64_t add(const Tensor& tensor) {
    return add(tensor.blob->bytes().first(tensor.bytes()));
  }
  /// Everything that was added; ends the pool.
  SharedBlob finish();

 private:
  std::multimap<std::size_t, std::pair<std::uint64_t, std::size_t>> known_;  // hash -> offset, size
  std::vector<std::byte> bytes_;
};

/// The program's value for a value of the graph: name, type, quantisation. A constant shares the
/// graph's bytes; storage and offset of others are the caller's to set.
ProgramValue program_value(const Value&);

/// Appends the step that runs `node` on the CPU, its subgraphs as nested programs. Values of the
/// program have the indices of the graph's values. A node of form `view` whose output was given
/// the place of its input becomes a step that runs nothing.
void add_cpu_step(Program&, const Graph&, const Node&);

/// True if output 0 of the node is its input 0 under other dims, both known.
bool is_view(const Graph&, const Node&);

/// The same for a program whose constants all lie in the pool, as an NPU's do.
ProgramValue program_value(const Value&, ConstantPool&);
void add_cpu_step(Program&, const Graph&, const Node&, ConstantPool&);

/// Gives every nested program, at any depth, the blob of the finished pool.
void set_constants(Program&, const SharedBlob&);

/// The whole graph as steps of the CPU. Copies no constant.
/// Program::values[i] is graph.values[i].
Program lower_cpu(const Graph&);

}  // namespace longshore::lower
