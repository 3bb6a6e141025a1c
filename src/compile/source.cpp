#include "compile/source.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "compile/near_names.hpp"

namespace longshore::compile {
namespace {

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += str(out.empty() ? "'" : ", '", n, "'");
  return out;
}

/// Dims and shapes that name something of the graph, as `infer` takes them.
InferOptions infer_options(const Graph& g, const Source& s) {
  InferOptions out;
  std::vector<std::string> symbols, inputs;
  for (ValueId v : g.inputs) {
    inputs.push_back(g[v].name);
    for (const Dim& d : g[v].type.dims)
      if (!d.known() && !d.symbol.empty() && std::ranges::find(symbols, d.symbol) == symbols.end())
        symbols.push_back(d.symbol);
  }
  for (const auto& [name, size] : s.dims) {
    if (std::ranges::find(symbols, name) == symbols.end())
      fail(Code::bad_argument, "--dim: no input has a dimension called '", name, "'; ",
           symbols.empty() ? "none has a name" : "there are " + listed(symbols));
    if (size < 1) fail(Code::bad_argument, "--dim ", name, ": 1 or more expected, found ", size);
    out.dims[name] = size;
  }
  for (const auto& [name, shape] : s.shapes) {
    const auto at = std::ranges::find(inputs, name);
    if (at == inputs.end())
      fail(Code::bad_argument, "--shape: there is no input '", name, "'; the inputs are ",
           listed(inputs));
    const TensorType& type = g[g.inputs[static_cast<std::size_t>(at - inputs.begin())]].type;
    bool fits = !type.ranked || type.rank() == shape.rank;
    for (int i = 0; fits && type.ranked && i < shape.rank; i++) {
      const Dim& d = type.dims[static_cast<std::size_t>(i)];
      fits = !d.known() || d.value == shape[i];
    }
    if (!fits || std::ranges::any_of(shape, [](std::int64_t d) { return d < 1; }))
      fail(Code::bad_argument, "--shape: input '", name, "' is ", print(type), ", found ",
           print(TensorType(type.dtype, shape)));
    out.input_shapes[name] = shape;
  }
  if (s.values) out.input_values = s.values(g);
  return out;
}

}  // namespace

ReadResult read(const Source& s) {
  ReadResult model = read_model(s.path, s.read);
  if (s.dims.empty() && s.shapes.empty() && !s.values) return model;
  const InferOptions special = infer_options(model.graph, s);
  if (special.dims.empty() && special.input_shapes.empty() && special.input_values.empty())
    return model;
  try {
    model.graph = tidy(infer(model.graph, special));
  } catch (const Error& e) {
    fail(e.code(), s.path, ": ", e.what());
  }
  return model;
}

Graph with_shapes(const Graph& g, const std::map<std::string, Shape>& shapes) {
  InferOptions options;
  for (ValueId v : g.inputs)
    if (const auto it = shapes.find(g[v].name); it != shapes.end())
      options.input_shapes[it->first] = it->second;
  return options.input_shapes.empty() ? g : infer(g, options);
}

std::vector<OpenDim> open_dims(const Graph& g) {
  std::vector<OpenDim> out;
  for (ValueId v : g.inputs) {
    const TensorType& t = g[v].type;
    for (std::size_t i = 0; t.ranked && i < t.dims.size(); i++)
      if (!t.dims[i].known()) out.push_back({g[v].name, t.dims[i].symbol, i});
  }
  return out;
}

std::string dims_to_type(const Graph& g, const std::vector<OpenDim>& open) {
  std::string out;
  std::vector<std::string> said;
  for (const OpenDim& d : open) {
    std::string word;
    if (!d.symbol.empty()) {
      word = str("--dim ", d.symbol, "=N");
    } else {
      for (ValueId v : g.inputs) {
        if (g[v].name != d.input) continue;
        word = str("--shape ", d.input, "=");
        for (std::size_t i = 0; i < g[v].type.dims.size(); i++) {
          const Dim& each = g[v].type.dims[i];
          word += (i ? "," : "") + (each.known() ? std::to_string(each.value) : std::string("N"));
        }
      }
    }
    if (std::ranges::find(said, word) != said.end()) continue;
    said.push_back(word);
    out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

Graph with_closed_dims(const Graph& g, const std::string& name,
                       std::vector<std::string>& warnings) {
  InferOptions options;
  std::vector<OpenDim> open;
  for (ValueId v : g.inputs)
    if (!g[v].type.ranked)
      fail(Code::bad_argument, name, ": the rank of input '", g[v].name,
           "' is open; give it its dims: --shape ", g[v].name, "=N,N,...");
  std::vector<std::string> closed;  // names of batches
  const std::vector<OpenDim> all = open_dims(g);
  for (const OpenDim& d : all)
    if (d.axis == 0 && !d.symbol.empty()) closed.push_back(d.symbol);
  for (const OpenDim& d : all)
    if (d.axis != 0 && std::ranges::find(closed, d.symbol) == closed.end()) open.push_back(d);
  if (!open.empty()) {
    std::string inputs;
    for (ValueId v : g.inputs)
      if (std::ranges::any_of(open, [&](const OpenDim& d) { return d.input == g[v].name; }))
        inputs += str(inputs.empty() ? "input '" : ", '", g[v].name, "' is ", print(g[v].type));
    fail(Code::bad_argument, name, ": dims are open: ", inputs,
         "; a program and its price need their sizes: ", dims_to_type(g, open));
  }
  for (ValueId v : g.inputs) {
    TensorType one = g[v].type;
    if (one.dims.empty() || one.dims[0].known()) continue;
    const std::string symbol = one.dims[0].symbol;
    if (symbol.empty()) {
      one.dims[0] = Dim(1);
      options.input_shapes[g[v].name] = *one.shape();
    } else {
      options.dims[symbol] = 1;
    }
    warnings.push_back(str("the batch of input '", g[v].name, "' is open",
                           symbol.empty() ? "" : str(" (", symbol, ")"), "; built for 1 (another: ",
                           dims_to_type(g, {{g[v].name, symbol, 0}}), ")"));
  }
  return options.dims.empty() && options.input_shapes.empty() ? g : infer(g, options);
}

}  // namespace longshore::compile
