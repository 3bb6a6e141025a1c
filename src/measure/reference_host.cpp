#include "measure/reference_host.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.hpp"

namespace longshore {
ReferenceHost::ReferenceHost(const Program& program, const Graph& graph)
    : program_(program), graph_(graph), work_(program.steps.size()), held_(program.values.size()) {
  check(program.values.size() >= graph.values.size(),
        "the program has fewer values than its graph");
  for (std::size_t i = 0; i < program.steps.size(); i++) prepare(i);
}

void ReferenceHost::prepare(std::size_t at) {
  const Step& step = program_.steps[at];
  if (step.kind != Step::Kind::op || step.outputs.empty()) return;
  const std::uint32_t first =
      *std::ranges::find_if(step.outputs, [](std::uint32_t v) { return v != no_index; });
  if (first >= graph_.values.size()) return;  // a copy between places of one value
  const Node* node = graph_.def(ValueId(first));
  if (!node || node->op->name != step.name || node->op->domain != step.domain)
    fail(Code::bad_model, "step ", at, " (", step.name, ") is no node of the graph");
  auto work = std::make_unique<Work>();
  std::vector<ValueId> outer;
  work->node = single_node(graph_, *node, outer);
  for (ValueId v : outer) work->inputs.push_back(static_cast<std::uint32_t>(v));
  work_[at] = std::move(work);
}

void ReferenceHost::start(std::span<const Tensor> inputs) {
  if (inputs.size() != program_.inputs.size())
    fail(Code::bad_argument, inputs.size(), " inputs are given, the program takes ",
         program_.inputs.size());
  std::ranges::fill(held_, Tensor());
  computed_.clear();
  for (std::size_t i = 0; i < inputs.size(); i++) {
    const ProgramValue& want = program_.values[program_.inputs[i]];
    if (inputs[i].dtype != want.dtype || (want.fixed_shape && !(inputs[i].shape == want.shape)))
      fail(Code::bad_argument, "input '", want.name, "' is ",
           print(TensorType(want.dtype, want.shape)), ", found ",
           print(TensorType(inputs[i].dtype, inputs[i].shape)));
    held_[program_.inputs[i]] = inputs[i];
  }
}

Tensor ReferenceHost::value(std::uint32_t index, std::span<const std::byte> arena) const {
  const ProgramValue& v = program_.values[index];
  switch (v.storage) {
    case Storage::arena: {
      const std::size_t bytes = static_cast<std::size_t>(v.shape.elements()) * size_bytes(v.dtype);
      check(v.offset <= arena.size() && bytes <= arena.size() - v.offset,
            "a value lies outside the arena");
      return {v.dtype, v.shape, copy_blob(arena.data() + v.offset, bytes)};
    }
    case Storage::constant:
      return index < graph_.values.size() && graph_.values[index].constant.present()
                 ? graph_.values[index].constant
                 : Tensor{v.dtype, v.shape,
                          copy_blob(
                              constant_bytes(program_, v).data(),
                              static_cast<std::size_t>(v.shape.elements()) * size_bytes(v.dtype))};
    case Storage::view: {
      Tensor t = value(v.view_of, arena);
      t.shape = v.shape;
      return t;
    }
    default:
      if (!held_[index].present()) fail(Code::internal, "value '", v.name, "' was not computed");
      return held_[index];
  }
}

void ReferenceHost::run(const Step& step, const Work* work, std::span<std::byte> arena) {
  std::vector<Tensor> in, out;
  if (work) {
    for (std::uint32_t v : work->inputs) in.push_back(value(v, arena));
    out = evaluate(work->node, in);
  } else {
    check(step.kind == Step::Kind::copy && step.inputs.size() == 1,
          "only a copy may have a value beyond the graph's");
    out.push_back(value(step.inputs[0], arena));
  }
  std::size_t next = 0;
  for (std::uint32_t v : step.outputs) {
    if (v == no_index) continue;
    const Tensor& t = out.at(next++);
    const ProgramValue& place = program_.values[v];
    if (place.storage == Storage::arena) {
      const std::size_t bytes =
          static_cast<std::size_t>(place.shape.elements()) * size_bytes(place.dtype);
      check(bytes == t.bytes() && place.offset <= arena.size() &&
                bytes <= arena.size() - place.offset,
            "a step's output does not fit its place");
      if (bytes > 0) std::memcpy(arena.data() + place.offset, t.blob->bytes().data(), bytes);
    } else {
      held_[v] = t;
    }
    if (v < graph_.values.size()) computed_[graph_.values[v].name] = t;
  }
}

Status ReferenceHost::run_step(const Step& step, std::size_t index,
                               std::span<std::byte> arena) noexcept {
  try {
    run(step, work_[index].get(), arena);
    return {};
  } catch (const Error& e) {
    return Status::error(e.code(), "%s", e.what());
  } catch (const std::exception& e) {
    return Status::error(Code::internal, "%s", e.what());
  }
}

}  // namespace longshore
