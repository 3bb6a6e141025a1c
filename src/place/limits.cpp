// What Longshore can lower today, whatever the target: one function per form.
#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "place/place.hpp"

namespace longshore {
namespace {

using Reasons = std::vector<Reason>;

void no(Reasons& out, std::string text, std::string change) {
  out.push_back({std::move(text), {}, std::move(change)});
}

bool one_scale(const TensorType& t) { return t.quant.scale.size() == 1; }
bool same_quant(const TensorType& a, const TensorType& b) { return a.quant == b.quant; }

bool is(const Node& n, std::initializer_list<std::string_view> names) {
  const std::string name = qualified_name(*n.op);
  return std::ranges::find(names, name) != names.end();
}

void only(Reasons& out, const Node& n, std::string_view form, std::string_view what) {
  no(out, str(qualified_name(*n.op), " has the form ", form, ", of which Longshore lowers ", what),
     str("replace it by one of ", what));
}

void mac(const Graph& g, const Node& n, Reasons& out) {
  const bool conv = is(n, {"Conv", "com.microsoft.FusedConv"});
  const bool gemm = is(n, {"Gemm", "com.microsoft.FusedGemm"});
  if (!conv && !gemm && !is(n, {"MatMul"}))
    return only(out, n, "mac", "Conv, FusedConv, Gemm, FusedGemm, MatMul");
  const TensorType& x = g[n.input(0)].type;
  const Tensor* w = g.constant(n.input(1));
  if (!w) return no(out, "its weights are computed at run time", "make input 1 a constant");
  if (w->dtype != DType::i8)
    return no(out, str("its weights are ", name(w->dtype), "; Longshore lowers i8"),
              "quantise the weights to i8");
  const Quantisation& wq = g[n.input(1)].type.quant;
  const int axis = n.op->weight_axis ? n.op->weight_axis({n, g}) : 0;
  if (std::ranges::any_of(wq.zero_point, [](std::int32_t z) { return z != 0; }))
    no(out, "its weights have a zero point other than 0", "quantise the weights symmetrically");
  if (wq.scale.size() > 1 && wq.axis != axis)
    no(out, str("its weight scales lie along axis ", wq.axis),
       str("quantise the weights along axis ", axis));
  if (n.input(2) != no_value && (!g.constant(n.input(2)) || g[n.input(2)].type.dtype != DType::i32))
    no(out, "its bias is not an i32 constant", "make the bias a constant and quantise it");
  else if (const Tensor* b = g.constant(n.input(2));
           b && b->elements() != 1 &&
           (b->elements() != extent_of(g[n.output()].type)->c || b->shape.back() != b->elements()))
    no(out, "its bias differs from row to row", "add it as a node of its own");
  if (n.input(3) != no_value)
    no(out, "it adds a residual input", "keep the Add as a node of its own");
  if (conv && x.rank() != 3 && x.rank() != 4)
    no(out, str("its input has rank ", x.rank(), "; the NPU walks one or two spatial dims"),
       "split the third spatial dim");
  if (!conv && (x.rank() != 2 || g[n.input(1)].type.rank() != 2))
    no(out, str("its input has rank ", x.rank(), "; matrix products of rank 2 are lowered"),
       "reshape the input to rank 2");
  if (gemm) {
    if (n.attributes.integer("transA", 0) != 0)
      no(out, "transA is 1", "transpose the input before");
    if (n.attributes.real("alpha", 1) != 1 || n.attributes.real("beta", 1) != 1)
      no(out, "alpha or beta is not 1", "fold alpha and beta into the weights");
  }
  Activation activation;
  if (const Status status = Activation::from(n.attributes, activation); !status.ok())
    no(out, status.text(), "use an activation that Longshore knows");
  else if (!activation.narrows())
    no(out, str("its activation ", n.attributes.text("activation"), " is no clamp"),
       "keep the activation as a node of its own");
}

void eltwise(const Graph& g, const Node& n, Reasons& out) {
  if (!is(n, {"Add", "Sub", "Mul"})) return only(out, n, "eltwise", "Add, Sub, Mul");
  const std::optional<Extent> to = extent_of(g[n.output()].type);
  if (!to)
    return no(out, "its output has a rank above 4 or unknown dims", "reshape it to at most 4 dims");
  if (n.inputs.size() != 2)
    return no(out, str("it has ", n.inputs.size(), " inputs"), "use two inputs");
  if (g.constant(n.input(0)) && g.constant(n.input(1)))
    return no(out, "both inputs are constants", "fold it");
  for (ValueId v : n.inputs)
    if (g.constant(v) && (g[v].type.dtype != DType::i8 || !one_scale(g[v].type)))
      return no(out, str("its constant '", g[v].name, "' is not i8 with one scale"),
                "quantise it per tensor");
  for (ValueId v : n.inputs)
    if (g[v].type.rank() > 4 || !g[v].type.shape())
      return no(out, "an operand has a rank above 4", "reshape it");
  const auto full = [&](std::size_t i) {
    return !g.constant(n.input(i)) && operand_extent(g, n.input(i), n.output()) == *to;
  };
  if (!full(0) && !full(1)) no(out, "both inputs are broadcast", "expand one of them");
}

void table(const Graph& g, const Node& n, Reasons& out) {
  for (std::size_t i = 1; i < n.inputs.size(); i++) {
    if (n.input(i) == no_value) continue;
    const Tensor* c = g.constant(n.input(i));
    if (!c || c->elements() > 1)
      no(out, str("its input ", i, " is not one constant number, so 256 entries cannot hold it"),
         "make it a constant scalar");
  }
  if (n.outputs.size() != 1) no(out, "it has several outputs", "use one output");
}

/// A window that lies in the padding alone has no input rows at all.
void window(const Graph& g, const Node& n, Reasons& out) {
  const Facts f = node_facts(g, n);
  const auto fact = [&](const std::string& key, std::int64_t otherwise) {
    const auto at = f.find(key);
    return at == f.end() ? otherwise : at->second;
  };
  for (const auto& [axis, before, after] :
       {std::array<std::string, 3>{"h", "pad_top", "pad_bottom"}, {"w", "pad_left", "pad_right"}}) {
    const std::int64_t reach = (fact("kernel_" + axis, 1) - 1) * fact("dilation_" + axis, 1) + 1;
    for (const std::string& key : {before, after})
      if (fact(key, 0) >= reach)
        no(out, str(key, " is ", fact(key, 0), ", as much as the kernel reaches (", reach, ")"),
           str("lower ", key, " below ", reach));
  }
}

void pool(const Graph& g, const Node& n, Reasons& out) {
  const bool average = is(n, {"AveragePool"});
  if (!average && !is(n, {"MaxPool", "GlobalMaxPool"}))
    return only(out, n, "pool", "MaxPool, AveragePool, GlobalMaxPool");
  const TensorType &x = g[n.input(0)].type, &y = g[n.output()].type;
  if (x.rank() != 3 && x.rank() != 4)
    no(out, str("its input has rank ", x.rank()), "use one or two spatial dims");
  if (n.output(1) != no_value) no(out, "its Indices are used", "do without the second output");
  if (!average && !same_quant(x, y))
    no(out, "its input and output differ in scale", "requantise apart");
  if (average && n.attributes.integer("count_include_pad", 0) != 0 &&
      n.attributes.integer("ceil_mode", 0) != 0)
    no(out, "count_include_pad with ceil_mode", "set ceil_mode to 0");
}

void reduce(const Graph& g, const Node& n, Reasons& out) {
  const TensorType& x = g[n.input(0)].type;
  if (is(n, {"GlobalAveragePool"})) {
    if (x.rank() != 3 && x.rank() != 4)
      no(out, str("its input has rank ", x.rank()), "use one or two spatial dims");
    return;
  }
  if (!is(n, {"ReduceMean"})) return only(out, n, "reduce", "GlobalAveragePool, ReduceMean");
  std::vector<std::int64_t> axes;
  if (const Tensor* t = g.constant(n.input(1)); t && t->dtype == DType::i64)
    axes.assign(t->values<std::int64_t>().begin(), t->values<std::int64_t>().end());
  const std::span<const std::int64_t> given = n.attributes.integers("axes");
  axes.insert(axes.end(), given.begin(), given.end());
  for (std::int64_t& a : axes) a = a < 0 ? a + x.rank() : a;
  std::ranges::sort(axes);
  const bool spatial = (x.rank() == 4 && axes == std::vector<std::int64_t>{2, 3}) ||
                       (x.rank() == 3 && axes == std::vector<std::int64_t>{2});
  if (!spatial)
    no(out, "it does not reduce exactly the spatial axes", "reduce all axes from the third on");
}

void resize(const Graph& g, const Node& n, Reasons& out) {
  if (!is(n, {"Resize", "Upsample"})) return only(out, n, "resize", "Resize, Upsample");
  const TensorType &x = g[n.input(0)].type, &y = g[n.output()].type;
  if (n.attributes.text("mode", "nearest") != "nearest")
    no(out, str("its mode is ", n.attributes.text("mode")), "use mode nearest");
  if (x.rank() != 4) return no(out, str("its input has rank ", x.rank()), "use NCHW");
  if (!same_quant(x, y)) no(out, "its input and output differ in scale", "requantise apart");
  if (x.dims[0].value != y.dims[0].value || x.dims[1].value != y.dims[1].value)
    no(out, "it resizes batch or channels", "resize height and width only");
  if (n.attributes.text("coordinate_transformation_mode") == "tf_crop_and_resize")
    no(out, "it crops", "slice before the resize");
  for (std::size_t i = 1; i < n.inputs.size(); i++)
    if (n.input(i) != no_value && !g.constant(n.input(i)))
      no(out, "its sizes are computed at run time", "make scales or sizes constant");
}

void move(const Graph& g, const Node& n, Reasons& out) {
  if (!is(n, {"Concat", "Slice", "Split", "Pad", "Transpose"}))
    return only(out, n, "move", "Concat, Slice, Split, Pad, Transpose");
  const bool concat = is(n, {"Concat"});
  for (std::size_t i = concat ? n.inputs.size() : 1; i < n.inputs.size(); i++)
    if (n.input(i) != no_value && !g.constant(n.input(i)))
      return no(out, str("its input ", i, " is computed at run time"), "make it a constant");
  if (concat) {
    for (ValueId v : n.inputs)
      if (g.constant(v)) no(out, "it concatenates a constant", "compute all parts");
    return;
  }
  for (ValueId v : n.outputs)
    if (v != no_value && !same_quant(g[n.input(0)].type, g[v].type))
      no(out, "its input and output differ in scale", "requantise apart");
  const auto any_negative = [&](std::size_t i) {
    const Tensor* t = g.constant(n.input(i));
    return t && t->dtype == DType::i64 &&
           std::ranges::any_of(t->values<std::int64_t>(), [](std::int64_t v) { return v < 0; });
  };
  if (is(n, {"Slice"}) && any_negative(4)) no(out, "it has a negative step", "slice forwards");
  if (is(n, {"Pad"})) {
    if (n.attributes.text("mode", "constant") != "constant")
      no(out, str("its mode is ", n.attributes.text("mode")), "pad with a constant");
    if (any_negative(1)) no(out, "it crops", "use a Slice");
  }
}

}  // namespace

std::optional<Extent> extent_of(const TensorType& t) {
  const std::optional<Shape> s = t.shape();
  if (!s || s->rank > 4) return {};
  Extent e;
  if (s->rank == 1) e.c = (*s)[0];
  if (s->rank >= 2) e.n = (*s)[0], e.c = (*s)[1];
  if (s->rank == 3) e.w = (*s)[2];
  if (s->rank == 4) e.h = (*s)[2], e.w = (*s)[3];
  return e;
}

Extent operand_extent(const Graph& g, ValueId v, ValueId output) {
  const Shape from = *g[v].type.shape();
  Shape aligned;
  for (int i = from.rank; i < g[output].type.rank(); i++) aligned.push(1);
  for (std::int64_t d : from) aligned.push(d);
  return *extent_of(TensorType(DType::i8, aligned));
}

Form npu_form(const Graph& g, const Node& n) {
  const Form form = n.op->form;
  if (form != Form::mac || n.input(1) == no_value) return form;
  const std::int64_t groups = n.attributes.integer("group", 1);
  const std::optional<Shape> w = g[n.input(1)].type.shape();
  if (groups > 1 && w && w->rank >= 3 && (*w)[1] == 1 && (*w)[0] == groups) return Form::depthwise;
  return form;
}

std::vector<Reason> lowering_limits(const Graph& g, const Node& n, Form form) {
  Reasons out;
  const auto plain = [&](ValueId v, std::string_view what) {
    if (v == no_value || g.constant(v)) return;
    const TensorType& t = g[v].type;
    const std::optional<Extent> e = extent_of(t);
    if (!e)
      return no(out,
                str(what, " '", g[v].name, "' has the dims ", print(t),
                    "; the NPU walks 1 to 4 known dims"),
                "give --dim or reshape to at most 4 dims");
    if (e->n > 65535 || e->h > 65535 || e->w > 65535 || e->c > 65535)
      no(out, str(what, " '", g[v].name, "' has a dim above 65535"), "tile the model");
    const bool may_be_float = form == Form::quantise && !t.quantised();  // said below
    if (!may_be_float && (t.dtype != DType::i8 || !t.quantised()))
      no(out,
         str(what, " '", g[v].name, "' is ", t.quantised() ? "" : "plain ", name(t.dtype),
             "; Longshore lowers quantised i8"),
         "quantise it to i8");
    if (e->elements() == 0) no(out, str(what, " '", g[v].name, "' is empty"), "remove the node");
    if (t.quantised() && !one_scale(t))
      no(out, str(what, " '", g[v].name, "' has a scale per channel"),
         "quantise activations per tensor");
  };
  if (n.output() == no_value || n.input(0) == no_value) {
    no(out, "it lacks an input or output", "give it one");
    return out;
  }
  if (!n.subgraphs.empty()) no(out, "it has a subgraph", "none");
  plain(n.input(0), "input");
  if (form == Form::eltwise || form == Form::move)
    for (std::size_t i = 1; i < n.inputs.size(); i++) plain(n.input(i), "input");
  for (ValueId v : n.outputs) plain(v, "output");
  if (g.constant(n.input(0)) && form != Form::eltwise)
    no(out, "its input is a constant", "fold it");
  if (!out.empty()) return out;
  switch (form) {
    case Form::mac:
    case Form::depthwise:
      mac(g, n, out);
      window(g, n, out);
      break;
    case Form::eltwise:
      eltwise(g, n, out);
      break;
    case Form::table:
      table(g, n, out);
      break;
    case Form::pool:
      pool(g, n, out);
      window(g, n, out);
      break;
    case Form::reduce:
      reduce(g, n, out);
      break;
    case Form::resize:
      resize(g, n, out);
      break;
    case Form::move:
      move(g, n, out);
      break;
    case Form::view:
      if (!same_quant(g[n.input(0)].type, g[n.output()].type))
        no(out, "its input and output differ in scale", "requantise apart");
      break;
    case Form::quantise:
      if (!is(n, {"longshore.Requantize"}))
        no(out, "one side of it is float", "none: the CPU makes the codes");
      break;
    case Form::none:
    case Form::softmax:
    case Form::norm:
    case Form::gather:
      no(out, str("Longshore has no lowering of ", qualified_name(*n.op), " for any NPU yet"),
         "replace the operator");
  }
  return out;
}

}  // namespace longshore
