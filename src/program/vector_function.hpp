#pragma once
#include <span>

namespace longshore {

/// Something that a vector unit may be able to do. The instruction that needs it defines it;
/// `vector.<name>_cycles` in a target file is its price per step, and a unit without a price lacks
/// it. Each exists once and is known by its address.
class VectorFunction {
 public:
  /// `doc`: what a step is, as "per step of ...".
  constexpr VectorFunction(const char* name, const char* doc) : name(name), doc(doc) {}
  VectorFunction(const VectorFunction&) = delete;
  VectorFunction& operator=(const VectorFunction&) = delete;

  const char *name, *doc;
};

/// Those of all instructions, in the order of their files.
std::span<const VectorFunction* const> vector_functions() noexcept;
/// Position there.
std::size_t index(const VectorFunction&) noexcept;

inline const char* name(const VectorFunction& f) noexcept { return f.name; }

}  // namespace longshore
