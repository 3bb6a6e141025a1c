#include "lower/cpu.hpp"

#include <algorithm>
#include <functional>

#include "base/error.hpp"
#include "plan/arena.hpp"

namespace longshore::lower {

std::uint64_t ConstantPool::add(std::span<const std::byte> bytes) {
  const std::size_t hash =
      std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  for (auto [it, end] = known_.equal_range(hash); it != end; ++it) {
    const auto [offset, size] = it->second;
    if (size == bytes.size() &&
        (size == 0 || std::memcmp(bytes_.data() + offset, bytes.data(), size) == 0))
      return offset;
  }
  const std::uint64_t offset = (bytes_.size() + 63) / 64 * 64;
  bytes_.resize(offset);
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  known_.emplace(hash, std::pair(offset, bytes.size()));
  return offset;
}

SharedBlob ConstantPool::finish() {
  known_.clear();
  return make_blob(std::move(bytes_));
}

ProgramValue program_value(const Value& value) {
  ProgramValue out;
  out.name = value.name;
  out.dtype = value.type.dtype;
  const std::optional<Shape> shape = value.type.shape();
  out.fixed_shape = shape.has_value() && checked_elements(*shape) >= 0;
  out.known_rank = value.type.ranked && value.type.rank() <= max_rank;
  if (out.known_rank)
    for (const Dim& d : value.type.dims) out.shape.push(d.value);
  out.quantisation = value.type.quant;
  if (value.constant.present()) {
    out.storage = Storage::constant;
    out.constant = value.constant.blob;
  }
  return out;
}

ProgramValue program_value(const Value& value, ConstantPool& pool) {
  ProgramValue out = program_value(value);
  if (out.constant) out.offset = pool.add(value.constant);
  out.constant = nullptr;
  return out;
}

bool is_view(const Graph& g, const Node& node) {
  if (!node.op->view || node.outputs.size() != 1 || node.input(0) == no_value)
    return false;
  const TensorType &in = g[node.inputs[0]].type, &out = g[node.outputs[0]].type;
  const std::optional<Shape> from = in.shape(), to = out.shape();
  return from && to && in.dtype == out.dtype && in.quant == out.quant &&
         checked_elements(*from) >= 0 && checked_elements(*from) == checked_elements(*to);
}

namespace {

std::uint64_t size_of(const ProgramValue& v) {
  return static_cast<std::uint64_t>(v.shape.elements()) * size_bytes(v.dtype);
}

std::uint32_t id(ValueId v) { return v == no_value ? no_index : static_cast<std::uint32_t>(v); }

bool same_place(const ProgramValue& a, const ProgramValue& b, std::uint32_t a_index) {
  if (b.storage == Storage::view)
    return b.view_of == (a.storage == Storage::view ? a.view_of : a_index);
  return a.storage == b.storage && a.offset == b.offset && a.constant == b.constant &&
         (a.storage == Storage::arena || a.storage == Storage::constant);
}

Program lower_graph(const Graph&, ConstantPool*);

/// Decides storage and, through the arena planner, the offsets of all values.
class Placer {
 public:
  Placer(Program& program, const Graph& g)
      : p_(program), g_(g), buffer_(g.values.size(), plan::no_buffer) {}

  void run() {
    for (ValueId v : g_.inputs) p_.values[index(v)].storage = Storage::input;
    for (ValueId v : g_.captured) p_.values[index(v)].storage = Storage::captured;
    for (std::size_t i = 0; i < g_.nodes.size(); i++)
      define(g_.nodes[i], static_cast<std::uint32_t>(i));
    for (ValueId v : g_.outputs) keep(v, static_cast<std::uint32_t>(g_.nodes.size()));
    const plan::Arena arena = plan::plan_arena(buffers_);
    for (std::size_t i = 0; i < buffer_.size(); i++)
      if (buffer_[i] != plan::no_buffer) p_.values[i].offset = arena.offsets[buffer_[i]];
    p_.arena_bytes = arena.bytes;
    p_.arena_lower_bound = arena.lower_bound;
  }

 private:
  void keep(ValueId v, std::uint32_t step) {
    if (v != no_value && buffer_[index(v)] != plan::no_buffer) {
      std::uint32_t& last = buffers_[buffer_[index(v)]].last;
      last = std::max(last, step);
    }
  }

  void define(const Node& node, std::uint32_t step) {
    for (ValueId v : node.inputs) keep(v, step);
    for (const Subgraph& s : node.subgraphs)
      for (ValueId v : s.captures) keep(v, step);
    const bool view = is_view(g_, node);
    for (ValueId v : node.outputs) {
      if (v == no_value) continue;
      ProgramValue& value = p_.values[index(v)];
      if (!value.fixed_shape)
        value.storage = Storage::dynamic;
      else if (view)
        share(node.inputs[0], value, index(v));
      else
        add_buffer(node, v, step);
    }
  }

  /// The output shows the bytes of the input.
  void share(ValueId from, ProgramValue& value, std::size_t at) {
    const ProgramValue& source = p_.values[index(from)];
    switch (source.storage) {
      case Storage::arena:
        value.storage = Storage::arena;
        buffer_[at] = buffer_[index(from)];
        break;
      case Storage::constant:
        value.storage = Storage::constant;
        value.offset = source.offset;
        value.constant = source.constant;
        break;
      case Storage::view:
        value.storage = Storage::view;
        value.view_of = source.view_of;
        break;
      case Storage::input:
      case Storage::captured:
        value.storage = Storage::view;
        value.view_of = id(from);
        break;
      case Storage::dynamic:
        check(false, "a dynamic value with known dims");
    }
  }

  void add_buffer(const Node& node, ValueId v, std::uint32_t step) {
    ProgramValue& value = p_.values[index(v)];
    value.storage = Storage::arena;
    buffer_[index(v)] = static_cast<std::uint32_t>(buffers_.size());
    plan::Buffer buffer{size_of(value), step, step};
    // Element i of an element-wise output depends on element i of an input of the same dims.
    if (node.op->elementwise && node.outputs.size() == 1) {
      for (ValueId in : node.inputs) {
        if (in == no_value || buffer_[index(in)] == plan::no_buffer) continue;
        const ProgramValue& source = p_.values[index(in)];
        if (source.dtype != value.dtype || !(source.shape == value.shape)) continue;
        buffer.in_place_of = buffer_[index(in)];
        break;
      }
    }
    buffers_.push_back(buffer);
  }

  Program& p_;
  const Graph& g_;
  std::vector<std::uint32_t> buffer_;  // of each value
  std::vector<plan::Buffer> buffers_;
};

void add_step(Program&, const Graph&, const Node&, ConstantPool*);

/// Constants go into the pool, or stay where they are without one.
Program lower_graph(const Graph& g, ConstantPool* pool) {
  Program p;
  p.numbers = g.numbers;
  p.states = g.states;
  for (const Value& v : g.values)
    p.values.push_back(pool ? program_value(v, *pool) : program_value(v));
  for (ValueId v : g.inputs) p.inputs.push_back(id(v));
  for (ValueId v : g.outputs) p.outputs.push_back(id(v));
  for (ValueId v : g.captured) p.captured.push_back(id(v));
  Placer(p, g).run();
  for (const Node& node : g.nodes) {
    p.layers.push_back(node.origin.name);
    add_step(p, g, node, pool);
    p.steps.back().layer = static_cast<std::uint32_t>(p.layers.size() - 1);
  }
  return p;
}

void add_step(Program& program, const Graph& g, const Node& node, ConstantPool* pool) {
  if (!node.op->eval) fail(Code::internal, "node ", describe(node), " has no meaning of its own");
  Step step;
  step.domain = node.op->domain;
  step.name = node.op->name;
  step.attributes = node.attributes;
  for (ValueId v : node.inputs) step.inputs.push_back(id(v));
  for (ValueId v : node.outputs) step.outputs.push_back(id(v));
  for (const Subgraph& s : node.subgraphs) {
    NestedProgram nested{s.name, lower_graph(s.body, pool), {}};
    for (ValueId v : s.captures) nested.captures.push_back(id(v));
    step.nested.push_back(std::move(nested));
  }
  if (is_view(g, node) &&
      same_place(program.values[step.inputs[0]], program.values[step.outputs[0]], step.inputs[0]))
    step.kind = Step::Kind::view;
  program.steps.push_back(std::move(step));
}

}  // namespace

void add_cpu_step(Program& program, const Graph& g, const Node& node) {
  add_step(program, g, node, nullptr);
}
void add_cpu_step(Program& program, const Graph& g, const Node& node, ConstantPool& pool) {
  add_step(program, g, node, &pool);
}

void set_constants(Program& program, const SharedBlob& constants) {
  program.constants = constants;
  for (Step& step : program.steps)
    for (NestedProgram& nested : step.nested) set_constants(nested.program, constants);
}

Program lower_cpu(const Graph& g) { return lower_graph(g, nullptr); }

}  // namespace longshore::lower
