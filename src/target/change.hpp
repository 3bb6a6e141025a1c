#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "target/target.hpp"

namespace longshore {

/// "1572864" or "1.5MiB" (KiB, GiB): 1572864.
std::optional<double> bytes_in(std::string_view text);

/// One `--set KEY=VALUE`, as a line of a target file.
struct TargetChange {
  std::string key;    // as docs/targets.md has it, without "npu.": "sram.bytes", "cpu.ghz"
  std::string value;  // as it was typed
  std::string toml;   // the line: "npu"."sram"."bytes" = 1048576
  std::string where;  // for messages: "--set sram=1MiB"
  bool of_npu = true;
};

/// Reads KEY=VALUE. KEY is one of a target file ("npu." may be left out) or a short name; a VALUE
/// in bytes may be in KiB, MiB or GiB. Throws for a key that no target has; whether the value is in
/// its range is for the reader of the line to say.
TargetChange target_change(std::string_view text);

/// All of them; throws where two set the same key.
std::vector<TargetChange> target_changes(std::span<const std::string> texts);

}  // namespace longshore
