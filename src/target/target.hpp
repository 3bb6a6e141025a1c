#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/op.hpp"
#include "program/machine.hpp"
#include "tensor/dtype.hpp"
#include "tensor/requantise.hpp"

namespace longshore {

/// A range that a target allows for one fact of a node (kernel_h, in_channels, ...).
struct FactLimit {
  std::string fact;
  std::int64_t lowest = 0, highest = 0;
  std::string where;  // "file:line" of the range
  bool operator==(const FactLimit&) const = default;
};

/// What an NPU can do of one form (`[forms.mac]`) or beyond that of one operator (`[ops.Conv]`).
struct Rule {
  bool supported = true;
  std::string supported_where;
  std::vector<std::string> dtypes;       // element types of data inputs and outputs; empty: any
  std::vector<FactLimit> limits;         // sorted by fact
  std::vector<std::string> activations;  // that a fused operator may carry
  bool any_activation = true;            // `activations` was not given
  std::string where, dtypes_where, activations_where;
  bool operator==(const Rule&) const = default;
};

/// The CPU beside the NPU, in numbers that price a step.
struct HostCpu {
  std::string name;
  int cores = 1;
  double ghz = 1;
  std::map<std::string, double, std::less<>> macs_per_cycle;  // of one core, by dtype: f32, i8
  double efficiency = 1;     // of peak that real convolutions reach
  double bandwidth_gbs = 1;  // from memory, all cores
  double step_us = 0;        // fixed cost of one step
  std::map<std::string, double, std::less<>> ns_per_element;  // by operator; "default" for the rest
  bool operator==(const HostCpu&) const = default;
};

/// How far predictions were off, on nets that none of the target's numbers was fitted to.
struct PredictionError {
  std::string against;  // what they were held against
  int nets = 0;
  double median_percent = 0, most_percent = 0;  // of the published time, either way
  bool operator==(const PredictionError&) const = default;
};

/// A chip as its target file describes it.
struct Target {
  Target();
  // Not here: nearly every file would have the copying of the maps compiled.
  Target(const Target&);
  Target(Target&&) noexcept;
  Target& operator=(const Target&);
  Target& operator=(Target&&) noexcept;
  ~Target();

  std::string name, doc, file;
  Machine machine;             // machine.present == false: CPU only
  std::string rounding_where;  // file:line of the rounding modes
  /// By form of src/forms; absent: the NPU has nothing for that form.
  std::map<std::string, Rule, std::less<>> forms;
  std::map<std::string, Rule, std::less<>> ops;  // by qualified operator name
  HostCpu cpu;
  /// Of this chip alone: neither inherited, nor kept where numbers were changed.
  std::optional<PredictionError> error;
  /// What was asked for beside the file, key and value: {"sram.bytes", "1MiB"}. Its numbers hold
  /// it.
  std::vector<std::pair<std::string, std::string>> changes;

  /// The units that nodes are placed on: "cpu", and "npu" where the chip has one.
  std::vector<std::string_view> units() const {
    return machine.present ? std::vector<std::string_view>{"cpu", "npu"}
                           : std::vector<std::string_view>{"cpu"};
  }
};

/// Reads a target by name (from the targets folders, or the built-in `cpu`) or by file path.
/// Throws on anything unknown, missing or impossible: file, line, key, expected, found.
/// `changes` are KEY=VALUE (target/change.hpp), which hold instead of what the file says.
Target load_target(std::string_view name_or_file, std::span<const std::string> changes = {});
/// The same from text; `file` is for messages.
Target parse_target(std::string_view toml, const std::string& file,
                    std::span<const std::string> changes = {});

/// The whole target as one file that inherits nothing: parse_target reads it back. What a bundle
/// keeps.
std::string print(const Target&);

/// A target that can be named: its name, its file ("" if built in).
struct TargetName {
  std::string name, file;
};
/// All of them: `cpu` and what lies in the targets folders ($LONGSHORE_TARGETS first).
std::vector<TargetName> target_names();

/// The facts of a node that limits can be put on: what the operator says of itself, and rank,
/// batch, in_channels, out_channels, in_h, in_w, out_h, out_w, elements where they make sense.
Facts node_facts(const Graph&, const Node&);
/// All fact names of an operator (or of all operators of a form), from its examples.
std::vector<std::string> fact_names(const OpDef&);
std::vector<std::string> fact_names(const FormName&);
/// The form that the examples of an operator ask for; empty: none.
std::string_view form_name(const OpDef&);
/// "f32_even", ...; and back.
std::string_view name(Rounding);
std::optional<Rounding> rounding_named(std::string_view);

/// One number of [npu] in a target file.
struct MachineField {
  enum class Kind : std::uint8_t { number, integer, flag, dataflow };
  std::string_view key;  // "mac.rows": section and key of the file
  std::string_view doc;  // with the unit
  double lowest, highest;
  bool required;
  Kind kind;
};
/// All of them: what the reader accepts, `targets` prints and docs/targets.md lists.
const std::vector<MachineField>& machine_fields();
double machine_number(const Machine&, std::string_view key);
void set_machine_number(Machine&, std::string_view key, double value);

}  // namespace longshore
