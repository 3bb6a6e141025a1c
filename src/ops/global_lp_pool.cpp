#include "ops/pool.hpp"

namespace longshore::ops::op_global_lp_pool {
namespace {

template <class A>
struct Norm {
  explicit Norm(const Attributes& a) : p(std::max<std::int64_t>(1, a.integer("p", 2))) {}
  void add(A x) { sum += lp_term(static_cast<double>(x), p); }
  A done(std::int64_t) const { return static_cast<A>(lp_root(sum, p)); }
  std::int64_t p;
  double sum = 0;
};

void infer(InferContext& c) {
  if (c.attributes().integer("p", 2) < 1)
    c.fail("its p is " + std::to_string(c.attributes().integer("p")));
  infer_global_pool(c);
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "GlobalLpPool",
    .doc = "The p-norm of each channel.",
    .since = 22,
    .schema = {.inputs = {{"X", pool_types, "T"}},
               .outputs = {{"Y", pool_types, "T"}},
               .attributes = {{"p"}}},
    .infer = infer,
    .eval = eval_global_pool<Norm>,
    .facts = global_pool_facts,
    .examples = {"(x: f32[N,3,4,5]) { y = GlobalLpPool(x, p=1) return y }"},
};

}  // namespace longshore::ops::op_global_lp_pool
