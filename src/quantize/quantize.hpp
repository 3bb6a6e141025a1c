#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quantize/calibration.hpp"
#include "quantize/equalise.hpp"
#include "quantize/output_noise.hpp"
#include "quantize/scale.hpp"
#include "quantize/select.hpp"
#include "quantize/widths.hpp"

namespace longshore {

struct QuantizeOptions {
  std::string calibrator =
      "mse";  // of activations; graph inputs and constants use their whole range
  bool least_error_weights =
      false;                 // true: weight scales by squared error, not by the largest weight
  bool equalise = true;      // channels that share a scale are brought to a like size first
  bool correct_bias = true;  // what rounding does to the mean of each channel goes into its bias
  bool float_final_probabilities =
      true;  // a Softmax or the like that only feeds outputs stays float
  Rounding rounding = Rounding::f32_even;
  Precision precision = Precision::w8a8;  // an integer one, of all nodes but those named below
  std::vector<NodePrecision> precisions;  // the last that names a node holds; f32: it stays float
  /// Above 0: those nodes get 16-bit activations (w8a16) that the outputs of calibration samples
  /// need to be within so many decibels of float's, or to lose at most so many per cent (Nearness);
  /// of all choices one that costs little. Nodes named above keep their precision.
  double min_sqnr_db = 0, max_drop = 0;
  WidthCosts width_costs;
  bool measure_noise = false;  // the report says what the codes do to each node
  /// Nodes that stay float: a node's name, the name of one of its outputs, or an operator.
  std::vector<std::string> exclude;
};

/// How a value was quantised.
struct ValueRecord {
  enum class Kind : std::uint8_t { activation, constant, weights, bias };
  std::string name;
  Kind kind = Kind::activation;
  DType dtype = DType::i8;
  Range observed, chosen;  // chosen: what the codes reach
  std::vector<float> scale;
  std::int32_t zero_point = 0;
  std::string method;  // the calibrator, "known range", "same as NAME", "largest per channel"
};

/// A node that stays in float, and why.
struct FloatNode {
  std::string name, op;
  FloatReason reason;
};

/// What the codes of a value alone do to the outputs: squared differences in parts of the outputs'
/// squares.
struct ValueNoise {
  std::string value;
  double noise = 0;
};

/// What min_sqnr_db and max_drop came to, over the samples that were compared.
struct Mixed {
  double wanted_db = 0, max_drop = 0;  // as asked; 0: it was not
  Nearness before, after, all;         // in 8 bits; as it is; in 16 bits, where 8 are not enough
  std::size_t nodes = 0;               // that compute in codes
  std::vector<std::string> wide;       // of these with 16-bit activations, by what they make
  double before_us = 0, after_us = 0, all_us = 0;  // predicted; 0: no target
};

/// Everything that quantize decided.
struct QuantizeReport {
  std::size_t samples = 0;
  std::vector<Unreadable> unreadable;
  std::vector<Equalised> equalised;
  std::vector<ValueNoise> noise;  // with measure_noise
  /// Clamps that saturation does for the node before: what they made, and what they were given.
  std::vector<std::pair<std::string, std::string>> absorbed;
  std::optional<Mixed> mixed;  // with min_sqnr_db or max_drop
  std::vector<ValueRecord> values;
  std::vector<FloatNode> float_nodes;
  std::size_t quantised_nodes = 0;
  std::map<Precision, std::size_t> nodes;  // how many compute in each precision
  std::vector<std::string> warnings;
};

/// What was reached at what cost, beside none and all of it, in one line.
std::string print(const Mixed&);
/// The report as a table for people.
std::string print(const QuantizeReport&);

/// The graph in the quantised form of docs/numbers.md: activations with scale and zero point in
/// their types, weights per output channel, i32 bias; codes as wide as the precision says. Inputs
/// and outputs stay as they are, with longshore.Quantize and longshore.Dequantize at the borders;
/// nodes without integer meaning stay float between such nodes. Expects an optimised graph
/// (BatchNormalization folded, activations fused). Throws where the calibration set is empty or
/// unreadable.
Graph quantize(const Graph& optimised_float_graph, const Calibration&, const QuantizeOptions& = {},
               QuantizeReport* report = nullptr);

}  // namespace longshore
