#pragma once
#include <string>
#include <vector>

#include "command_line.hpp"
#include "target/target.hpp"

namespace longshore {

/// --set KEY=VALUE, which load_target takes.
inline void add_set_option(CommandLine& app, std::vector<std::string>& changes) {
  app.add_option("--set", changes,
                 "KEY=VALUE: the target with another number, such as sram.bytes=1MiB or cores=2; "
                 "several may be given")
      .one_at_a_time();
}

/// "sram.bytes = 1MiB, cores.count = 2": what --set gave.
inline std::string shown_changes(const Target& t) {
  std::string out;
  for (const auto& [key, value] : t.changes) out += (out.empty() ? "" : ", ") + key + " = " + value;
  return out;
}

}  // namespace longshore
