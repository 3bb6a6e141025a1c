// What an operator says of itself to the forms of src/forms: how it would run on an NPU.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/activation.hpp"
#include "tensor/window.hpp"

namespace longshore {

/// Something about a node that its form cannot do, whatever the target: an attribute or a fact,
/// what it is, and what it would have to be.
struct Obstacle {
  std::string fact, found, wanted;
  bool operator==(const Obstacle&) const = default;
};

/// A node in the words of a form. Inputs are named by their role; -1: the node has none of that.
struct FormSpec {
  std::string_view form;           // a file of src/forms; empty: the CPU alone runs it
  std::string_view function = {};  // from the form's own list: "add", "max", "mean", ...
  int data = 0;                    // the input that is walked
  int other = -1;                  // eltwise: the second operand
  int weights = -1, bias = -1, residual = -1;
  int fill = -1;   // move: what is written outside of the input
  int result = 0;  // the output
  /// Rows are axis 1 and columns axis 2 of the window.
  Window window;
  std::int64_t groups = 1;
  bool weights_by_input = false;  // a weight matrix [in][out] instead of [out][in]
  bool counts_padding = false;    // pool: an average divides by the padded window
  Activation activation;
  /// move: `takes` parts of one input, `joins` inputs one after the other, or `pads` one.
  enum class Move : std::uint8_t { takes, joins, pads };
  Move move = Move::takes;
  float epsilon = 0;  // norm
  std::int64_t axis =
      0;  // joins: along which; softmax, norm: the axis of the rows; reduce: of channels
  /// Maps that a form finds out before planning: the source row and column of each output row and
  /// column (resize), and where the input begins in the output, NHWC (pads).
  std::vector<std::int64_t> rows, columns;
  std::array<std::int64_t, 4> start{};
  std::vector<Obstacle> obstacles;
  bool operator==(const FormSpec&) const = default;

  void refuse(std::string fact, std::string found, std::string wanted);
};

/// The forms that exist: the name of each, and of what it is a special case ("" for none).
struct FormName {
  std::string_view name, like;
};
/// All files of src/forms.
std::span<const FormName> form_names();

}  // namespace longshore
