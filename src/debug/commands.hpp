#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "debug/session.hpp"

namespace longshore::debug {

/// A command of the debugger: an entry of the table in commands.cpp.
struct DebugCommand {
  std::string_view name, arguments, doc;
  /// What it says; fails with bad_argument where it was called wrongly.
  std::string (*run)(Session&, std::span<const std::string> words);
};
std::span<const DebugCommand> debug_commands();

/// The commands of one line: split at ';', and at '#' the rest is a comment.
std::vector<std::string> commands_in(std::string_view line);

/// What the command says. `quit` and an empty one say nothing.
std::string execute(Session&, const std::string& command);
bool is_quit(std::string_view command);

}  // namespace longshore::debug
