// The first stage: a file becomes a graph whose dims are as the caller wants them.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/op.hpp"
#include "read/read.hpp"

namespace longshore::compile {

/// A model file and what is fixed of it.
struct Source {
  std::string path;
  ReadOptions read;
  std::map<std::string, std::int64_t> dims;  // by the dim's name
  std::map<std::string, Shape> shapes;       // by the input's name
  /// Constants for inputs, made when their types are known; may be empty.
  std::function<decltype(InferOptions::input_values)(const Graph&)> values;
};

/// Reads the file and specialises the graph. Throws Error, naming the file and, of a dim or input
/// that is not there, those that are.
ReadResult read(const Source&);

/// The graph for inputs of these dims, by name. Dims that are known must be the same.
Graph with_shapes(const Graph&, const std::map<std::string, Shape>&);

/// A dim of an input that has no size.
struct OpenDim {
  std::string input, symbol;  // the symbol may be empty
  std::size_t axis = 0;
};
std::vector<OpenDim> open_dims(const Graph&);

/// "--dim height=N --dim width=N": what to type to close them; --shape where one has no name.
std::string dims_to_type(const Graph&, const std::vector<OpenDim>&);

/// A graph that can be planned: an open batch (axis 0) becomes 1, which `warnings` says. Throws,
/// naming them, where other dims of inputs are open; `name` is the file for messages.
Graph with_closed_dims(const Graph&, const std::string& name, std::vector<std::string>& warnings);

}  // namespace longshore::compile
