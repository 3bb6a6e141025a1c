#pragma once
#include <functional>
#include <span>
#include <string_view>

#include "command_line.hpp"

namespace longshore {

/// How a command ends (docs/errors.md). A command returns yes or no; what it throws becomes the
/// others.
namespace exit_code {
inline constexpr int yes = 0;
inline constexpr int no = 1;  // the answer is no: compare, inspect, test-onnx
inline constexpr int bad_input = 2;
inline constexpr int usage = 64;
inline constexpr int our_bug = 70;
}  // namespace exit_code

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
