#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quantize/calibration.hpp"
#include "quantize/equalise.hpp"
#include "quantize/scale.hpp"
#include "quantize/select.hpp"

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
  /// Above 0: as many nodes get 16-bit activations (w8a16) as the outputs of calibration samples
  /// need to be within so many decibels of float's. Nodes named above keep their precision.
  double min_sqnr_db = 0;
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

/// What codes do to a node: the mean, over the channels of what it makes and of what only it has
/// codes of, of the expected squares of rounding errors, in parts of the squares of the numbers.
struct NodeNoise {
  std::string output;
  double noise = 0;
};

/// What min_sqnr_db came to: of the output that fares worst, over the samples that were compared.
struct Mixed {
  double wanted_db = 0, before_db = 0, after_db = 0;
  double all_db = 0;                // with 16 bits everywhere, where 8 are not enough
  std::size_t nodes = 0, wide = 0;  // that compute in codes; of these with 16-bit activations
};

/// Everything that quantize decided.
struct QuantizeReport {
  std::size_t samples = 0;
  std::vector<Unreadable> unreadable;
  std::vector<Equalised> equalised;
  std::vector<NodeNoise> noise;  // with measure_noise
  std::optional<Mixed> mixed;    // with min_sqnr_db
  std::vector<ValueRecord> values;
  std::vector<FloatNode> float_nodes;
  std::size_t quantised_nodes = 0;
  std::map<Precision, std::size_t> nodes;  // how many compute in each precision
  std::vector<std::string> warnings;
};

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
