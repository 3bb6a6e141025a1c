#pragma once
#include <functional>
#include <span>
#include <string_view>

#include "command_line.hpp"
#include "ending.hpp"

namespace longshore {

/// One subcommand. tools/longshore/<stem>.cpp defines `commands::command_<stem>`; a .cpp that has a
/// header of its own is a helper. Results go to stdout; progress, warnings and errors to stderr.
struct Command {
  std::string_view name, doc;
  /// Declares the options and returns what runs once they are parsed. State lives in a shared
  /// pointer that the callback holds.
  std::function<int()> (*setup)(CommandLine&);
};

namespace commands {
std::span<const Command* const> all();  // generated
}

}  // namespace longshore
