#include <vector>

#include "base/limits.hpp"
#include "run/loaded.hpp"
#include "tensor/quant.hpp"

namespace longshore {
namespace {

/// One program's values and steps, each failure naming the value or step.
class Check {
 public:
  Check(const Program& p, int depth) : p_(p), depth_(depth), defined_(p.values.size()) {}

  Status run() {
    if (depth_ > deepest_nesting)
      return Status::error(Code::exhausted, "programs are nested more than %d deep",
                           deepest_nesting);
    if (p_.numbers > Rounding::fixed31_double)
      return Status::error(Code::bad_model, "an unknown rounding mode");
    for (std::size_t i = 0; i < p_.values.size(); i++) LONGSHORE_TRY(value(i));
    LONGSHORE_TRY(define(p_.inputs, Storage::input, "input"));
    LONGSHORE_TRY(define(p_.captured, Storage::captured, "captured"));
    if (depth_ == 0 && !p_.captured.empty())
      return Status::error(Code::bad_model, "the main program captures values");
    for (std::size_t i = 0; i < p_.steps.size(); i++) {
      const Status status = step(p_.steps[i]);
      if (!status.ok()) return Status::error(status.code(), "step %zu: %s", i, status.text());
    }
    for (std::uint32_t v : p_.outputs) LONGSHORE_TRY(use(v, "output"));
    if (depth_ > 0 && !p_.states.empty())
      return Status::error(Code::bad_model, "a nested program has states");
    for (const StateSlot& s : p_.states) LONGSHORE_TRY(state(s));
    return {};
  }

 private:
  Status value(std::size_t i) {
    const ProgramValue& v = p_.values[i];
    const auto bad = [&](const char* what) {
      return Status::error(Code::bad_model, "value %zu '%.80s': %s", i, v.name.c_str(), what);
    };
    if (static_cast<int>(v.dtype) >= dtype_count) return bad("an unknown element type");
    if (v.shape.rank < 0 || v.shape.rank > max_rank) return bad("its rank is out of range");
    if (v.fixed_shape) {
      const std::int64_t n = checked_elements(v.shape);
      if (n < 0) return bad("its dimensions are negative or too large");
      if (static_cast<std::uint64_t>(n) > (std::uint64_t{1} << 40) / 16)
        return bad("it is too large");
    }
    const Quantisation& q = v.quantisation;
    if (q.scale.size() != q.zero_point.size())
      return bad("scales and zero points differ in number");
    if (q.present()) {
      if (v.dtype != DType::i8 && v.dtype != DType::u8 && v.dtype != DType::i16 &&
          v.dtype != DType::u16 && v.dtype != DType::i32 && v.dtype != DType::i4 &&
          v.dtype != DType::u4 && v.dtype != DType::i2 && v.dtype != DType::u2)
        return bad("its type cannot be quantised");
      for (float s : q.scale)
        if (!(s > 0) || s > 3e38f) return bad("a scale is not a positive number");
      const CodeRange range = code_range(v.dtype);
      for (std::int32_t z : q.zero_point)
        if (z < range.lowest || z > range.highest)
          return bad("a zero point is outside its type's range");
      if (q.scale.size() > 1 && (!v.known_rank || !quant_fits(q.view(), v.shape)))
        return bad("the number of its scales does not fit its axis");
    }
    const auto inside = [&](std::uint64_t size) {
      return v.fixed_shape && v.offset % 64 == 0 && v.offset <= size &&
             value_bytes(v) <= size - v.offset;
    };
    switch (v.storage) {
      case Storage::constant:
        if (v.constant ? v.offset != 0 || !inside(v.constant->size())
                       : !p_.constants || !inside(p_.constants->size()))
          return bad("its place is outside the constants");
        defined_[i] = true;
        break;
      case Storage::arena:
        if (v.dtype != DType::undefined && !inside(p_.arena_bytes))
          return bad("its place is outside the arena");
        defined_[i] = p_.machine.present;  // an NPU's queue may write it
        break;
      case Storage::view: {
        if (v.view_of >= p_.values.size()) return bad("it shows a value that does not exist");
        const Storage of = p_.values[v.view_of].storage;
        if (of != Storage::input && of != Storage::captured)
          return bad("it may show only inputs and captured values");
        break;
      }
      case Storage::input:
      case Storage::dynamic:
      case Storage::captured:
        break;
      default:
        return bad("an unknown storage");
    }
    return {};
  }

  Status define(const std::vector<std::uint32_t>& list, Storage storage, const char* what) {
    for (std::uint32_t v : list) {
      if (v >= p_.values.size() || p_.values[v].storage != storage || defined_[v])
        return Status::error(Code::bad_model, "%s value %u is not one", what, v);
      if (size_bytes(p_.values[v].dtype) == 0)
        return Status::error(Code::unsupported, "%s '%.80s' has no usable element type", what,
                             p_.values[v].name.c_str());
      defined_[v] = true;
    }
    return {};
  }

  Status use(std::uint32_t v, const char* what) {
    if (v >= p_.values.size())
      return Status::error(Code::bad_model, "%s %u does not exist", what, v);
    if (!defined_[v])
      return Status::error(Code::bad_model, "%s '%.80s' is used before it is computed", what,
                           p_.values[v].name.c_str());
    return {};
  }

  bool same_place(std::uint32_t from, std::uint32_t to) const {
    const ProgramValue &a = p_.values[from], &b = p_.values[to];
    if (b.storage == Storage::view)
      return b.view_of == (a.storage == Storage::view ? a.view_of : from);
    return a.storage == b.storage && a.offset == b.offset && a.constant == b.constant &&
           (a.storage == Storage::arena || a.storage == Storage::constant);
  }

  Status step(const Step& s) {
    if (s.layer != no_index && s.layer >= p_.layers.size())
      return Status::error(Code::bad_model, "layer %u does not exist", s.layer);
    switch (s.kind) {
      case Step::Kind::op:
      case Step::Kind::view:
      case Step::Kind::copy:
        break;
      case Step::Kind::clean:
      case Step::Kind::invalidate:
        if (s.offset > p_.arena_bytes || s.bytes > p_.arena_bytes - s.offset)
          return Status::error(Code::bad_model, "its bytes are outside the arena");
        [[fallthrough]];
      case Step::Kind::wait:
      case Step::Kind::signal:
        if (!p_.machine.present || depth_ > 0)
          return Status::error(Code::bad_model, "a program without an NPU has nothing to wait for");
        return {};
      default:
        return Status::error(Code::bad_model, "an unknown kind of step");
    }
    for (std::uint32_t v : s.inputs)
      if (v != no_index) LONGSHORE_TRY(use(v, "value"));
    if (s.kind == Step::Kind::view) return view(s);
    for (std::uint32_t v : s.outputs) {
      if (v == no_index) continue;
      if (v >= p_.values.size())
        return Status::error(Code::bad_model, "output %u does not exist", v);
      const ProgramValue& value = p_.values[v];
      const bool written = value.storage == Storage::dynamic || value.storage == Storage::arena;
      if (!written || (defined_[v] && !p_.machine.present))
        return Status::error(Code::bad_model, "'%.80s' cannot be its output", value.name.c_str());
      if (size_bytes(value.dtype) == 0)
        return Status::error(Code::unsupported, "'%.80s' has no usable element type",
                             value.name.c_str());
      defined_[v] = true;
    }
    if (s.kind == Step::Kind::copy) return copy(s);
    for (const NestedProgram& nested : s.nested) {
      if (nested.captures.size() != nested.program.captured.size())
        return Status::error(Code::bad_model, "'%.40s' captures %zu values, not %zu",
                             nested.name.c_str(), nested.captures.size(),
                             nested.program.captured.size());
      LONGSHORE_TRY(check_program(nested.program, depth_ + 1));
      for (std::size_t i = 0; i < nested.captures.size(); i++) {
        const std::uint32_t v = nested.captures[i];
        LONGSHORE_TRY(use(v, "captured value"));
        const ProgramValue &outer = p_.values[v],
                           &inner = nested.program.values[nested.program.captured[i]];
        if (outer.dtype != inner.dtype ||
            (inner.fixed_shape && !(outer.fixed_shape && outer.shape == inner.shape)) ||
            !(outer.quantisation == inner.quantisation))
          return Status::error(Code::bad_model, "captured '%.80s' is of another type inside",
                               outer.name.c_str());
      }
    }
    return {};
  }

  Status copy(const Step& s) const {
    if (s.inputs.size() != 1 || s.inputs[0] == no_index || s.outputs.size() != 1 ||
        s.outputs[0] == no_index || !s.nested.empty())
      return Status::error(Code::bad_model, "a copy of nothing");
    const ProgramValue &from = p_.values[s.inputs[0]], &to = p_.values[s.outputs[0]];
    if (!from.fixed_shape || !to.fixed_shape || from.dtype != to.dtype ||
        !(from.shape == to.shape) || to.storage != Storage::arena)
      return Status::error(Code::bad_model, "'%.80s' is no copy of '%.80s'", to.name.c_str(),
                           from.name.c_str());
    return {};
  }

  /// What a run leaves for the next must be what the next takes.
  Status state(const StateSlot& s) {
    if (s.input >= p_.inputs.size() || s.output >= p_.outputs.size())
      return Status::error(Code::bad_model, "a state has no input or no output");
    const ProgramValue &in = p_.values[p_.inputs[s.input]], &out = p_.values[p_.outputs[s.output]];
    const auto bad = [&](const char* what) {
      return Status::error(Code::bad_model, "state '%.80s': %s", in.name.c_str(), what);
    };
    if (!in.fixed_shape)
      return Status::error(Code::unsupported, "state '%.80s': its dims must be known",
                           in.name.c_str());
    if (in.dtype != out.dtype || !(in.quantisation == out.quantisation) ||
        (out.fixed_shape && !(in.shape == out.shape)))
      return bad("it becomes a value of another type");
    if (s.capacity > 0 && s.capacity < value_bytes(in)) return bad("its capacity is too small");
    for (const StateSlot& other : p_.states)
      if (&other != &s && other.input == s.input) return bad("it is given twice");
    return {};
  }

  Status view(const Step& s) {
    if (s.inputs.empty() || s.inputs[0] == no_index || s.outputs.size() != 1 ||
        s.outputs[0] >= p_.values.size())
      return Status::error(Code::bad_model, "a view of nothing");
    const ProgramValue &from = p_.values[s.inputs[0]], &to = p_.values[s.outputs[0]];
    if (!from.fixed_shape || !to.fixed_shape || from.dtype != to.dtype ||
        value_bytes(from) != value_bytes(to) || !same_place(s.inputs[0], s.outputs[0]))
      return Status::error(Code::bad_model, "'%.80s' is no view of '%.80s'", to.name.c_str(),
                           from.name.c_str());
    defined_[s.outputs[0]] = true;
    return {};
  }

  const Program& p_;
  int depth_;
  std::vector<bool> defined_;
};

}  // namespace

Status check_program(const Program& program, int depth) { return Check(program, depth).run(); }

}  // namespace longshore
