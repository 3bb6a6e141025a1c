// Why a node cannot run on a unit. A reason states the limit, what was found and the smallest
// change, which is computed from the two.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ir/form_spec.hpp"
#include "program/machine.hpp"
#include "program/vector_function.hpp"
#include "tensor/dtype.hpp"

namespace longshore {

/// The smallest change of a reason as a value, for what applies it (src/change).
struct Wanted {
  enum class Kind : std::uint8_t {
    none,       // nobody could apply it
    fact,       // a number of the node: kernel_h, from 33, to 31
    property,   // something else about it: mode, from cubic, to nearest
    constant,   // a value that has to be one
    scale,      // a value that needs the scale of another, `to`
    target,     // a key that the target file lacks: [forms.norm], npu.vector.norm_cycles
    form,       // an operator that no form does
    codes,      // a value that is float
    price,      // nothing: it could run there and would be slower
    last_float  // probabilities at the end of the model, which are kept in float
  };
  Kind kind = Kind::none;
  std::string what, from, to;
  bool operator==(const Wanted&) const = default;
};

/// One limit that keeps a node from a unit.
struct Reason {
  std::string text;    // "kernel_h is 33; the target allows 1 to 31"
  std::string where;   // "rk3588-like.toml:82", or empty where no file says it
  std::string change;  // "lower kernel_h from 33 to 31"
  Wanted wanted = {};  // the same as a value
  bool operator==(const Reason&) const = default;
};

/// The NPU that a node is tried on.
struct Unit {
  std::string_view name, file;  // of the target, for messages
  const Machine& machine;
};

/// Collects every failed limit of one node.
class Reasons {
 public:
  const std::vector<Reason>& all() const { return all_; }
  bool empty() const { return all_.empty(); }
  std::vector<Reason> take() { return std::move(all_); }

  /// A number outside of what is allowed; `who` states the limit: "the target allows".
  void range(std::string_view fact, std::int64_t found, std::int64_t lowest, std::int64_t highest,
             std::string_view who, std::string where = {});
  /// A property that has another value than is wanted: an attribute, an element type, ...
  void value(std::string_view fact, std::string_view found, std::string_view wanted,
             std::string where = {});
  void obstacle(const Obstacle& o) { value(o.fact, o.found, o.wanted); }
  /// An input that has to be a constant: its role and name.
  void computed(std::string_view role, std::string_view name);
  /// Two values whose scales have to be one.
  void scales(std::string_view first, std::string_view second);
  /// The unit cannot do it at all: what, and the key of the target file that would say it can.
  void lacks(const Unit&, std::string_view what, std::string_view key);
  /// The vector unit has no such function.
  void needs(const Unit&, const VectorFunction&);
  /// Anything else.
  void add(Reason reason) { all_.push_back(std::move(reason)); }

 private:
  std::vector<Reason> all_;
};

}  // namespace longshore
