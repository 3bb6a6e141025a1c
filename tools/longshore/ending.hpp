#pragma once
#include <exception>
#include <string>

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

/// What a command that threw ends with: its exit code, and why.
struct Ending {
  int code = exit_code::our_bug;
  std::string text;
};
Ending ending_of(const std::exception&);

/// The text as one line for stderr, whatever it holds.
std::string complaint(std::string text);

}  // namespace longshore
