#include "run/frame.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace longshore {
namespace {

/// Serves an operator from the frame's memory.
class StepContext final : public EvalContext {
 public:
  StepContext(Frame& frame, Workplace& workplace, std::size_t step, std::span<std::byte> scratch)
      : EvalContext(frame.loaded->steps[step].step->attributes,
                    std::span(frame.inputs).first(frame.loaded->steps[step].step->inputs.size()),
                    frame.program().numbers, scratch),
        frame_(frame),
        workplace_(workplace),
        at_(step),
        step_(*frame.loaded->steps[step].step) {}

  std::size_t output_count() const noexcept override { return step_.outputs.size(); }
  bool wants(std::size_t i) const noexcept override {
    return i < step_.outputs.size() && step_.outputs[i] != no_index;
  }
  DType output_dtype(std::size_t i) const noexcept override {
    return wants(i) ? value(i).dtype : DType::undefined;
  }
  QuantView output_quant(std::size_t i) const noexcept override {
    return wants(i) ? value(i).quant() : QuantView{};
  }
  Shape inferred_dims(std::size_t i) const noexcept override {
    return wants(i) ? value(i).shape : Shape{};
  }

  Status output(std::size_t i, const Shape& dims, MutableView& view) noexcept override {
    if (!wants(i)) return Status::error(Code::internal, "output %zu is not wanted", i);
    const ProgramValue& v = value(i);
    const std::int64_t n = checked_elements(dims);
    if (n < 0) return Status::error(Code::exhausted, "an output of negative or too many elements");
    const std::uint64_t bytes = static_cast<std::uint64_t>(n) * size_bytes(v.dtype);
    std::byte* data = nullptr;
    if (v.storage == Storage::dynamic) {
      const std::uint32_t place = frame_.loaded->buffer[step_.outputs[i]];
      Buffer& buffer =
          workplace_.levels[static_cast<std::size_t>(frame_.loaded->depth)].dynamic[place];
      LONGSHORE_TRY(buffer.reserve(bytes, workplace_.budget));
      data = buffer.data();
    } else {
      if (bytes > value_bytes(v))
        return Status::error(Code::internal, "output %zu has more elements than were planned", i);
      data =
          workplace_.levels[static_cast<std::size_t>(frame_.loaded->depth)].arena.data() + v.offset;
    }
    view = {v.dtype, dims, data, v.quant()};
    frame_.views[step_.outputs[i]] = view;
    return {};
  }

  Status run(std::string_view name, std::span<const TensorView> in,
             std::span<TensorView> out) noexcept override {
    for (std::size_t s = 0; s < step_.nested.size(); s++)
      if (step_.nested[s].name == name)
        return run_nested(step_.nested[s], *frame_.nested[at_][s], in, out);
    return Status::error(Code::internal, "no subgraph of that name");
  }

 private:
  const ProgramValue& value(std::size_t i) const noexcept {
    return frame_.program().values[step_.outputs[i]];
  }

  Status run_nested(const NestedProgram& nested, NestedFrame& inner, std::span<const TensorView> in,
                    std::span<TensorView> out) noexcept;

  Frame& frame_;
  Workplace& workplace_;
  std::size_t at_;
  const Step& step_;
};

/// The dims are those of the value, as far as they are known.
bool fits(const ProgramValue& v, const TensorView& view) noexcept {
  if (v.dtype != view.dtype) return false;
  if (!v.known_rank) return true;
  if (v.shape.rank != view.shape.rank) return false;
  for (int i = 0; i < v.shape.rank; i++)
    if (v.shape[i] >= 0 && v.shape[i] != view.shape[i]) return false;
  return true;
}

Status StepContext::run_nested(const NestedProgram& nested, NestedFrame& inner,
                               std::span<const TensorView> in, std::span<TensorView> out) noexcept {
  const Program& p = nested.program;
  Frame& f = inner.frame;
  if (in.size() != p.inputs.size() || out.size() != p.outputs.size())
    return Status::error(Code::bad_model,
                         "the subgraph takes %zu inputs and gives %zu outputs, not %zu and %zu",
                         p.inputs.size(), p.outputs.size(), in.size(), out.size());
  for (std::size_t i = 0; i < in.size(); i++) {
    const ProgramValue& v = p.values[p.inputs[i]];
    if (!fits(v, in[i]))
      return Status::error(Code::bad_argument,
                           "the subgraph's input '%.80s' is of another type or has other dims",
                           v.name.c_str());
    f.views[p.inputs[i]] = in[i];
    f.views[p.inputs[i]].quant = v.quant();
  }
  for (std::size_t i = 0; i < p.captured.size(); i++)
    f.views[p.captured[i]] = frame_.views[nested.captures[i]];
  LONGSHORE_TRY(run_frame(f, workplace_));
  Level& level = workplace_.levels[static_cast<std::size_t>(f.loaded->depth)];
  std::vector<Buffer>& buffers = level.turns[level.next];
  level.next ^= 1;
  for (std::size_t i = 0; i < out.size(); i++) {
    out[i] = f.views[p.outputs[i]];
    if (p.values[p.outputs[i]].storage == Storage::constant) continue;
    // A copy: the body's next run overwrites its arena, and an output may show an input.
    LONGSHORE_TRY(buffers[i].reserve(out[i].bytes(), workplace_.budget));
    if (out[i].bytes() > 0) std::memcpy(buffers[i].data(), out[i].data, out[i].bytes());
    out[i].data = buffers[i].data();
  }
  return {};
}

void set_view(Frame& f, Workplace& workplace, std::uint32_t v) noexcept {
  const ProgramValue& value = f.program().values[v];
  f.views[v].data =
      workplace.levels[static_cast<std::size_t>(f.loaded->depth)].arena.data() + value.offset;
}

Status run_kernel(Frame& f, Workplace& workplace, const LoadedStep& loaded) noexcept {
  const Step& step = *loaded.step;
  for (std::size_t i = 0; i < step.outputs.size(); i++) {
    f.outputs[i] = {};
    if (step.outputs[i] == no_index) continue;
    set_view(f, workplace, step.outputs[i]);
    const TensorView& view = f.views[step.outputs[i]];
    f.outputs[i] = {view.dtype, view.shape, const_cast<void*>(view.data), view.quant};
  }
  Level& level = workplace.levels[static_cast<std::size_t>(f.loaded->depth)];
  loaded.kernel->run({std::span(f.inputs).first(step.inputs.size()),
                      std::span(f.outputs).first(step.outputs.size()),
                      std::span(level.scratch.data(), level.scratch.capacity()), *workplace.pool});
  return {};
}

Status run_operator(Frame& f, Workplace& workplace, const LoadedStep& loaded,
                    std::size_t at) noexcept {
  const Step& step = *loaded.step;
  Level& level = workplace.levels[static_cast<std::size_t>(f.loaded->depth)];
  const auto inputs = std::span(f.inputs).first(step.inputs.size());
  std::uint64_t scratch = loaded.scratch_bytes;
  const bool by_default = loaded.quantised && !loaded.op->eval_quantised;
  if (!loaded.known_scratch) {
    scratch = loaded.op->scratch({step.attributes, inputs});
    if (by_default) scratch = scratch * 4 + 4096;  // asked for with codes, used with floats
  }
  LONGSHORE_TRY(level.scratch.reserve(scratch, workplace.budget));
  for (std::uint32_t v : step.outputs)
    if (v != no_index) f.views[v].data = nullptr;
  StepContext context(f, workplace, at, std::span(level.scratch.data(), scratch));
  if (by_default)
    LONGSHORE_TRY(eval_dequantised(*loaded.op, context, level.floats, workplace.budget));
  else if (loaded.quantised)
    LONGSHORE_TRY(loaded.op->eval_quantised(context));
  else
    LONGSHORE_TRY(loaded.op->eval(context));
  for (std::uint32_t v : step.outputs) {
    if (v == no_index) continue;
    if (!f.views[v].present())
      return Status::error(Code::internal, "output '%.80s' was not computed",
                           f.program().values[v].name.c_str());
    if (!fits(f.program().values[v], f.views[v]))
      return Status::error(Code::internal, "output '%.80s' has other dims than were planned",
                           f.program().values[v].name.c_str());
  }
  return {};
}

Status do_step(Frame& f, Workplace& workplace, std::size_t at) noexcept {
  const LoadedStep& loaded = f.loaded->steps[at];
  const Step& step = *loaded.step;
  if (step.kind == Step::Kind::view) {
    f.views[step.outputs[0]].data = f.views[step.inputs[0]].data;
    return {};
  }
  if (step.kind == Step::Kind::copy) {
    set_view(f, workplace, step.outputs[0]);
    const TensorView &from = f.views[step.inputs[0]], &to = f.views[step.outputs[0]];
    if (to.bytes() > 0) std::memmove(const_cast<void*>(to.data), from.data, to.bytes());
    return {};
  }
  if (step.kind != Step::Kind::op)
    return Status::error(Code::unsupported, "a step of an NPU program outside of it");
  for (std::size_t i = 0; i < step.inputs.size(); i++)
    f.inputs[i] = step.inputs[i] == no_index ? TensorView{} : f.views[step.inputs[i]];
  return loaded.kernel ? run_kernel(f, workplace, loaded) : run_operator(f, workplace, loaded, at);
}

}  // namespace

Status make_frame(const LoadedProgram& loaded, Workplace& workplace, Frame& f) {
  f.loaded = &loaded;
  const Program& p = *loaded.program;
  f.views.resize(p.values.size());
  f.inputs.resize(loaded.most_inputs);
  f.outputs.resize(loaded.most_outputs);
  f.nested.resize(loaded.steps.size());
  for (std::size_t i = 0; i < p.values.size(); i++) {
    const ProgramValue& v = p.values[i];
    f.views[i] = {v.dtype, v.shape, nullptr, v.quant()};
    if (v.storage == Storage::constant) {
      static constexpr std::byte nothing[64] = {};
      f.views[i].data = value_bytes(v) > 0 ? constant_bytes(p, v).data() : nothing;
    }
  }
  Level& own = workplace.levels[static_cast<std::size_t>(loaded.depth)];
  if (own.dynamic.size() < loaded.buffers) own.dynamic.resize(loaded.buffers);
  for (std::size_t i = 0; i < loaded.steps.size(); i++)
    for (const auto& nested : loaded.steps[i].nested) {
      auto inner = std::make_unique<NestedFrame>();
      LONGSHORE_TRY(make_frame(*nested, workplace, inner->frame));
      const Program& body = *nested->program;
      for (auto& turn : workplace.levels[static_cast<std::size_t>(nested->depth)].turns) {
        if (turn.size() < body.outputs.size()) turn.resize(body.outputs.size());
        for (std::size_t k = 0; k < body.outputs.size(); k++) {
          const ProgramValue& v = body.values[body.outputs[k]];
          if (v.fixed_shape && v.storage != Storage::constant)
            LONGSHORE_TRY(turn[k].reserve(value_bytes(v), workplace.budget));
        }
      }
      f.nested[i].push_back(std::move(inner));
    }
  return {};
}

void show_arena(Frame& f, Workplace& workplace) noexcept {
  const Program& p = f.program();
  for (std::size_t i = 0; i < p.values.size(); i++)
    if (p.values[i].storage == Storage::arena)
      set_view(f, workplace, static_cast<std::uint32_t>(i));
}

Status run_step(Frame& f, Workplace& workplace, std::size_t at,
                const StepObserver* observer) noexcept {
  using Clock = std::chrono::steady_clock;
  const Program& p = f.program();
  const Clock::time_point start = observer ? Clock::now() : Clock::time_point{};
  const Status status = do_step(f, workplace, at);
  if (!status.ok()) {
    const Step& step = p.steps[at];
    return Status::error(status.code(), "'%.60s' (%.40s): %s",
                         step.layer == no_index ? "" : p.layers[step.layer].c_str(),
                         step.name.c_str(), status.text());
  }
  if (observer)
    observer->done(observer->self, p, static_cast<std::uint32_t>(at), f.views,
                   std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  return {};
}

Status run_frame(Frame& f, Workplace& workplace, const StepObserver* observer) noexcept {
  for (std::size_t i = 0; i < f.loaded->steps.size(); i++)
    LONGSHORE_TRY(run_step(f, workplace, i, observer));
  return {};
}

}  // namespace longshore
