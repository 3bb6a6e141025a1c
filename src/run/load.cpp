#include <algorithm>

#include "base/guard.hpp"
#include "run/loaded.hpp"
#include "run/table.hpp"

namespace longshore {
namespace {

std::string_view plain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

/// Fills a LoadedModel from its (checked) program.
class Loader {
 public:
  explicit Loader(LoadedModel& model)
      : model_(model),
        isa_(model.options.limit_isa ? std::min(model.options.isa, cpu::best_isa())
                                     : cpu::best_isa()) {}

  Status program(const Program& p, LoadedProgram& out, int depth,
                 std::span<const cpu::Operand> captured) {
    out.program = &p;
    out.depth = depth;
    const auto level = static_cast<std::size_t>(depth);
    if (model_.arena_bytes.size() <= level) {
      model_.arena_bytes.resize(level + 1);
      model_.scratch_bytes.resize(level + 1);
    }
    model_.arena_bytes[level] = std::max(model_.arena_bytes[level], p.arena_bytes);

    std::vector<cpu::Operand> operands;
    for (const ProgramValue& v : p.values) {
      cpu::Operand o{v.dtype, v.fixed_shape, v.shape, v.quant(), nullptr, nullptr};
      if (v.storage == Storage::constant) {
        o.constant = constant_bytes(p, v).data();
        o.owner = &constant_owner(p, v);
      }
      operands.push_back(o);
      out.buffer.push_back(v.storage == Storage::dynamic ? out.buffers++ : no_index);
    }
    for (std::size_t i = 0; i < p.captured.size(); i++) {
      operands[p.captured[i]].constant = captured[i].constant;
      operands[p.captured[i]].owner = captured[i].owner;
    }

    out.steps.resize(p.steps.size());
    for (std::size_t i = 0; i < p.steps.size(); i++) {
      const Status status = step(p, p.steps[i], out, out.steps[i], operands);
      if (!status.ok()) {
        const std::uint32_t layer = p.steps[i].layer;
        return Status::error(status.code(), "step %zu '%.60s' (%.40s): %s", i,
                             layer == no_index ? "" : p.layers[layer].c_str(),
                             p.steps[i].name.c_str(), status.text());
      }
      model_.scratch_bytes[level] =
          std::max(model_.scratch_bytes[level], out.steps[i].scratch_bytes);
    }
    return {};
  }

 private:
  Status step(const Program& p, const Step& s, LoadedProgram& in, LoadedStep& out,
              std::span<const cpu::Operand> all) {
    out.step = &s;
    if (s.kind != Step::Kind::op) return {};
    in.most_inputs = std::max(in.most_inputs, s.inputs.size());
    in.most_outputs = std::max(in.most_outputs, s.outputs.size());
    const auto pick = [&](const std::vector<std::uint32_t>& ids) {
      std::vector<cpu::Operand> operands;
      for (std::uint32_t v : ids) operands.push_back(v == no_index ? cpu::Operand{} : all[v]);
      return operands;
    };
    const std::vector<cpu::Operand> inputs = pick(s.inputs), outputs = pick(s.outputs);
    const auto quantised = [](const cpu::Operand& o) { return o.quantised(); };
    out.quantised = std::any_of(inputs.begin(), inputs.end(), quantised) ||
                    std::any_of(outputs.begin(), outputs.end(), quantised);

    for (const Operator& each : model_.operators)
      if (plain(each.domain) == plain(s.domain) && each.name == s.name) out.op = &each;
    if (out.op && out.op->schema) LONGSHORE_TRY(check_schema(*out.op->schema, s, inputs));
    if (model_.options.fast_kernels && s.nested.empty()) {
      const cpu::BindRequest request{s.domain, s.name,    s.attributes, inputs,
                                     outputs,  p.numbers, isa_,         model_.packs.get()};
      out.kernel = cpu::bind(request);
      if (!out.kernel && out.op) out.kernel = bind_table(*out.op, request);
    }
    if (out.kernel) {
      out.op = nullptr;
      return {};  // its scratch depends on the context's threads
    }
    if (!out.op || !out.op->eval)
      return Status::error(Code::unsupported, "there is no kernel for operator '%.40s'",
                           s.name.c_str());
    scratch(s, out, inputs);
    for (const NestedProgram& nested : s.nested) {
      std::vector<cpu::Operand> captured;
      for (std::uint32_t v : nested.captures) captured.push_back(all[v]);
      out.nested.push_back(std::make_unique<LoadedProgram>());
      LONGSHORE_TRY(program(nested.program, *out.nested.back(), in.depth + 1, captured));
    }
    return {};
  }

  static void scratch(const Step& s, LoadedStep& out, const std::vector<cpu::Operand>& inputs) {
    out.known_scratch = true;
    if (!out.op->scratch) return;
    std::vector<TensorView> views;
    for (const cpu::Operand& o : inputs) {
      if (o.present() && !o.fixed_shape) out.known_scratch = false;
      views.push_back({o.dtype, o.shape, o.constant, o.quant});
    }
    if (!out.known_scratch) return;
    out.scratch_bytes = out.op->scratch({s.attributes, views});
    if (!out.quantised || out.op->eval_quantised) return;
    for (TensorView& v : views)
      if (v.quant.count > 0) v.dtype = DType::f32;
    out.scratch_bytes =
        std::max<std::uint64_t>(out.scratch_bytes, out.op->scratch({s.attributes, views}));
  }

  static Status check_schema(const Schema& schema, const Step& s,
                             const std::vector<cpu::Operand>& inputs) {
    const auto& list = schema.inputs;
    const bool open = !list.empty() && list[list.size() - 1].presence == Presence::variadic;
    if (!open && inputs.size() > list.size())
      return Status::error(Code::bad_model, "it has %zu inputs, at most %zu are allowed",
                           inputs.size(), list.size());
    const bool open_outputs =
        !schema.outputs.empty() &&
        schema.outputs[schema.outputs.size() - 1].presence == Presence::variadic;
    if (!open_outputs && s.outputs.size() > schema.outputs.size())
      return Status::error(Code::bad_model, "it has %zu outputs, at most %zu are allowed",
                           s.outputs.size(), schema.outputs.size());
    for (std::size_t i = 0; i < std::max(inputs.size(), list.size()) && !list.empty(); i++) {
      const Parameter& p = list[std::min(i, list.size() - 1)];
      const bool present = i < inputs.size() && inputs[i].present();
      if (!present) {
        if (p.presence == Presence::required && i < list.size())
          return Status::error(Code::bad_model, "its input '%.40s' is missing", p.name.data());
        continue;
      }
      const DType t = inputs[i].quantised() ? DType::f32 : inputs[i].dtype;
      if (!p.types.has(t))
        return Status::error(Code::bad_model, "its input '%.40s' cannot be of type %s",
                             p.name.data(), name(t).data());
      for (std::size_t j = 0; j < i && !p.variable.empty(); j++) {
        if (list[std::min(j, list.size() - 1)].variable != p.variable || !inputs[j].present())
          continue;
        if ((inputs[j].quantised() ? DType::f32 : inputs[j].dtype) != t)
          return Status::error(Code::bad_model, "its inputs %zu and %zu must have one type", j, i);
      }
    }
    for (const AttributeSpec& a : schema.attributes) {
      if (!a.required) continue;
      const bool there = a.kind == AttributeKind::graph
                             ? std::any_of(s.nested.begin(), s.nested.end(),
                                           [&](const NestedProgram& n) { return n.name == a.name; })
                             : s.attributes.has(a.name);
      if (!there)
        return Status::error(Code::bad_model, "its attribute '%.40s' is missing", a.name.data());
    }
    return {};
  }

  LoadedModel& model_;
  cpu::Isa isa_;
};

}  // namespace

Result<std::shared_ptr<const LoadedModel>> load_model(Program program, const LoadOptions& options,
                                                      std::shared_ptr<cpu::PackCache> packs) {
  auto model = std::make_shared<LoadedModel>();
  model->packs = std::move(packs);
  model->program = std::move(program);
  model->options = options;
  model->operators.assign(options.operators.begin(), options.operators.end());
  model->options.operators = model->operators;
  const Program& p = model->program;
  if (const Status status = check_program(p, 0); !status.ok()) return status;
  if (p.arena_bytes > options.memory_limit_bytes)
    return Status::error(Code::exhausted,
                         "the program's arena of %llu bytes is over the limit of %llu",
                         static_cast<unsigned long long>(p.arena_bytes),
                         static_cast<unsigned long long>(options.memory_limit_bytes));
  for (std::uint32_t v : p.inputs) model->open_dims |= !p.values[v].fixed_shape;
  if (const Status status = Loader(*model).program(p, model->main, 0, {}); !status.ok())
    return status;
  return std::shared_ptr<const LoadedModel>(std::move(model));
}

Result<Model> Model::load(Program program, const LoadOptions& options) {
  return guarded([&]() -> Result<Model> {
    Result<std::shared_ptr<const LoadedModel>> loaded =
        load_model(std::move(program), options, std::make_shared<cpu::PackCache>());
    if (!loaded.ok()) return loaded.status();
    Model model;
    model.loaded_ = *loaded;
    return model;
  });
}

std::uint64_t Model::packed_bytes() const noexcept { return loaded_->packs->packed_bytes(); }

const Program& Model::program() const noexcept { return loaded_->program; }

const char* Model::kernel_name(std::size_t step) const noexcept {
  if (step >= loaded_->main.steps.size()) return "";
  const LoadedStep& s = loaded_->main.steps[step];
  if (s.kernel) return s.kernel->name();
  return s.op ? "eval" : s.step->kind == Step::Kind::copy ? "copy" : "";
}

std::uint64_t Model::context_bytes(int threads) const noexcept {
  std::uint64_t bytes = 0, kernel_scratch = 0;
  for (std::uint64_t arena : loaded_->arena_bytes) bytes += arena;
  for (std::uint64_t scratch : loaded_->scratch_bytes) bytes += scratch;
  for (const LoadedStep& s : loaded_->main.steps)
    if (s.kernel)
      kernel_scratch = std::max<std::uint64_t>(kernel_scratch, s.kernel->scratch_bytes(threads));
  return bytes + kernel_scratch;
}

}  // namespace longshore
