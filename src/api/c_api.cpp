#include <longshore/longshore.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "base/threads.hpp"
#include "compile/bundle_file.hpp"

struct longshore_model {
  longshore::Model model;
};

struct longshore_context {
  longshore::Context context;
  std::vector<longshore::TensorView> inputs;
};

namespace longshore {
namespace {

static_assert(static_cast<int>(Code::internal) == LONGSHORE_INTERNAL &&
              static_cast<int>(Code::io) == LONGSHORE_IO);
static_assert(static_cast<int>(DType::bf16) == LONGSHORE_BF16 && max_rank == LONGSHORE_MAX_RANK);

longshore_code tell(Code code, const char* text, char* why, std::size_t why_size) noexcept {
  if (why && why_size > 0) {
    const std::size_t n = std::min(std::strlen(text), why_size - 1);
    std::memcpy(why, text, n);
    why[n] = 0;
  }
  return static_cast<longshore_code>(code);
}

/// Runs f and turns what it throws into a code.
template <class F>
longshore_code guarded(char* why, std::size_t why_size, F&& f) noexcept {
  try {
    f();
    return tell(Code::ok, "", why, why_size);
  } catch (const Error& e) {
    return tell(e.code(), e.what(), why, why_size);
  } catch (const std::bad_alloc&) {
    return tell(Code::exhausted, "out of memory", why, why_size);
  } catch (const std::exception& e) {
    return tell(Code::internal, e.what(), why, why_size);
  }
}

longshore_code type_of(const Program& p, const std::vector<std::uint32_t>& list, std::size_t i,
                       longshore_tensor* out) noexcept {
  if (!out || i >= list.size()) return LONGSHORE_BAD_ARGUMENT;
  const ProgramValue& v = p.values[list[i]];
  *out = {};
  out->dtype = static_cast<std::int32_t>(v.dtype);
  out->rank = v.known_rank ? v.shape.rank : -1;
  for (int d = 0; d < v.shape.rank; d++) out->dims[d] = v.shape[d];
  return LONGSHORE_OK;
}

const char* name_of(const Program& p, const std::vector<std::uint32_t>& list,
                    std::size_t i) noexcept {
  return i < list.size() ? p.values[list[i]].name.c_str() : nullptr;
}

}  // namespace
}  // namespace longshore

using namespace longshore;  // NOLINT: the functions below stand outside of it

const char* longshore_version(void) { return LONGSHORE_VERSION; }

longshore_code longshore_model_load(const char* path, longshore_model** model, char* why,
                                    size_t why_size) {
  if (!path || !model) return tell(Code::bad_argument, "a null pointer", why, why_size);
  *model = nullptr;
  return guarded(why, why_size, [&] { *model = new longshore_model{compile::load(path)}; });
}
void longshore_model_free(longshore_model* model) { delete model; }

size_t longshore_input_count(const longshore_model* m) {
  return m ? m->model.program().inputs.size() : 0;
}
size_t longshore_output_count(const longshore_model* m) {
  return m ? m->model.program().outputs.size() : 0;
}
const char* longshore_input_name(const longshore_model* m, size_t i) {
  return m ? name_of(m->model.program(), m->model.program().inputs, i) : nullptr;
}
const char* longshore_output_name(const longshore_model* m, size_t i) {
  return m ? name_of(m->model.program(), m->model.program().outputs, i) : nullptr;
}
longshore_code longshore_input_type(const longshore_model* m, size_t i, longshore_tensor* type) {
  return m ? type_of(m->model.program(), m->model.program().inputs, i, type)
           : LONGSHORE_BAD_ARGUMENT;
}
longshore_code longshore_output_type(const longshore_model* m, size_t i, longshore_tensor* type) {
  return m ? type_of(m->model.program(), m->model.program().outputs, i, type)
           : LONGSHORE_BAD_ARGUMENT;
}

longshore_code longshore_context_create(const longshore_model* model, int threads,
                                        longshore_context** context, char* why, size_t why_size) {
  if (!model || !context) return tell(Code::bad_argument, "a null pointer", why, why_size);
  *context = nullptr;
  return guarded(why, why_size, [&] {
    Result<Context> made = Context::create(model->model, std::max(threads, 0));
    require(made.status());
    *context = new longshore_context{std::move(*made),
                                     std::vector<TensorView>(model->model.program().inputs.size())};
  });
}
void longshore_context_free(longshore_context* context) { delete context; }

longshore_code longshore_run(longshore_context* c, const longshore_tensor* inputs, size_t count,
                             char* why, size_t why_size) {
  if (!c || (!inputs && count > 0))
    return tell(Code::bad_argument, "a null pointer", why, why_size);
  if (count != c->inputs.size())
    return tell(Code::bad_argument, "the number of inputs is not that of the model", why, why_size);
  for (size_t i = 0; i < count; i++) {
    const longshore_tensor& t = inputs[i];
    if (!t.data) {  // a state, or the run says what is missing
      c->inputs[i] = {};
      continue;
    }
    if (t.rank < 0 || t.rank > max_rank || t.dtype < 0 || t.dtype >= dtype_count)
      return tell(Code::bad_argument, "an input's rank or element type is out of range", why,
                  why_size);
    c->inputs[i] = {static_cast<DType>(t.dtype),
                    Shape(std::span(t.dims, static_cast<std::size_t>(t.rank))),
                    t.data,
                    {}};
  }
  const Status status = c->context.run(c->inputs);
  return tell(status.code(), status.text(), why, why_size);
}

longshore_code longshore_output(const longshore_context* c, size_t i, longshore_tensor* out) {
  if (!c || !out || i >= c->context.output_count()) return LONGSHORE_BAD_ARGUMENT;
  const TensorView view = c->context.output(i);
  if (!view.present()) return LONGSHORE_BAD_ARGUMENT;  // nothing has run yet
  *out = {};
  out->dtype = static_cast<std::int32_t>(view.dtype);
  out->rank = view.shape.rank;
  for (int d = 0; d < view.shape.rank; d++) out->dims[d] = view.shape[d];
  out->data = view.data;
  return LONGSHORE_OK;
}

void longshore_reset(longshore_context* c) {
  if (c) c->context.reset();
}

uint64_t longshore_context_bytes(const longshore_context* c) {
  return c ? c->context.memory_bytes() : 0;
}
