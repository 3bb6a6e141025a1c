#include "place/price.hpp"

#include <algorithm>

#include "forms/support/tile_dma.hpp"
#include "sim/costs.hpp"

namespace longshore {
namespace {

/// Nothing where a dim is unknown.
std::optional<double> elements_of(const Graph& g, ValueId v) {
  const std::optional<Shape> s = v == no_value ? Shape{0} : g[v].type.shape();
  if (!s) return {};
  return v == no_value ? 0.0 : static_cast<double>(s->elements());
}

double bytes_of(const Graph& g, ValueId v) {
  const std::optional<double> n = elements_of(g, v);
  return v == no_value || !n ? 0 : *n * static_cast<double>(size_bytes(g[v].type.dtype));
}

/// Nanoseconds of moving a value group by group: a few channels of each pixel, in bursts that reach
/// into those of its neighbours.
double grouped_ns(const Graph& g, ValueId v, std::int64_t groups, const Machine& m, bool write) {
  const auto e = forms::extent_of(g[v]);
  if (!e) return 0;
  const auto size = static_cast<std::int64_t>(size_bytes(g[v].type.dtype));
  const std::int64_t pixel = e->c * size, row = e->w * pixel, image = e->h * row;
  const auto u64 = [](std::int64_t bytes) { return static_cast<std::uint64_t>(bytes); };
  const double one = forms::tile_dma_ns(m, 0, {u64(image), u64(row), u64(pixel), u64(size)}, e->h,
                                        e->w, e->c / groups, size, write);
  return static_cast<double>(e->n * groups) *
         (one + m.cycles_to_ns(m.dma_setup_cycles + m.dispatch_cycles));
}

bool known(const Graph& g, const Node& n) {
  const auto all = [&](const std::vector<ValueId>& list) {
    return std::ranges::all_of(list, [&](ValueId v) { return elements_of(g, v).has_value(); });
  };
  return all(n.inputs) && all(n.outputs);
}

}  // namespace

std::int64_t node_macs(const Graph& g, const Node& n) {
  return n.op->macs && n.output() != no_value && n.input(0) != no_value ? n.op->macs({n, g}) : 0;
}

double cpu_price_us(const Graph& g, const Node& n, const HostCpu& cpu, double constants_gb_per_s) {
  if (n.op->view) return 0;
  if (!known(g, n)) return -1;
  const bool quantised = n.output() != no_value && g[n.output()].type.quantised();
  // No kernel multiplies 16-bit codes faster than floats.
  const bool bytes = quantised && size_bytes(g[n.output()].type.dtype) == 1;
  const auto rate = cpu.macs_per_cycle.find(bytes ? "i8" : "f32");
  const double peak = rate != cpu.macs_per_cycle.end() ? rate->second : 1;
  const double macs_us =
      static_cast<double>(node_macs(g, n)) / (peak * cpu.ghz * 1e3 * cpu.cores * cpu.efficiency);
  double written = 0, read = 0, constants = 0, elements = 0;
  for (ValueId v : n.outputs) {
    written += bytes_of(g, v);
    elements += v == no_value ? 0 : *elements_of(g, v);
  }
  for (std::size_t i = 0; i < n.inputs.size(); i++) {
    // Of a table only the rows that are picked are read.
    const double bytes = i == 0 && n.op->picks ? written : bytes_of(g, n.inputs[i]);
    (g.constant(n.inputs[i]) ? constants : read) += bytes;
  }
  const double constants_us = constants_gb_per_s > 0 ? constants / (constants_gb_per_s * 1e3) : 0;
  double element_us = 0;
  if (node_macs(g, n) == 0) {
    auto ns = cpu.ns_per_element.find(qualified_name(*n.op));
    if (ns == cpu.ns_per_element.end()) ns = cpu.ns_per_element.find("default");
    // What looks through windows or sums over whole axes works on what it reads.
    const FormSpec spec = n.op->form ? n.op->form({n, g}) : FormSpec{};
    const forms::FormDef* form = forms::find(spec.form);
    const bool sums = form && form->rules && form->rules({g, n, spec}, {}).sums_pixels;
    const double work =
        sums ? *elements_of(g, n.input(0)) : elements * static_cast<double>(spec.window.taps());
    element_us = work * ns->second * 1e-3;
  }
  return cpu.step_us + std::max({macs_us, (read + constants + written) / (cpu.bandwidth_gbs * 1e3),
                                 constants_us, element_us});
}

double npu_price_us(const forms::FormDef& form, const forms::FormNode& n, const Machine& m) {
  if (!form.cycles) return 0;
  if (!known(n.graph, n.node)) return -1;
  const forms::TileRules rules = form.rules(n, m);
  // The whole node as one tile: what its windows, groups and sums cost, whatever the cut.
  const std::int64_t groups = rules.sums_channels ? n.spec.groups : 1;
  const forms::Extent& walked = rules.sums_pixels ? n.in : n.out;
  const forms::Tiling whole{.rows = walked.n * walked.h,
                            .columns = walked.w,
                            .channels = n.out.c / groups,
                            .in_channels = n.in.c / groups};
  const double cycles = form.cycles(n, whole, m) * static_cast<double>(groups);
  const double rate = std::min(m.dma_bytes_per_cycle * m.clock_mhz * 1e-3, m.dram_gb_per_s);
  double read = 0, constants = 0, written = 0, dma_us = 0;
  for (ValueId v : n.node.inputs) (n.graph.constant(v) ? constants : read) += bytes_of(n.graph, v);
  for (ValueId v : n.node.outputs) written += bytes_of(n.graph, v);
  const double constants_ns = constants / std::min(rate, m.constants_rate());
  if (groups > 1)
    dma_us = 1e-3 * std::max(grouped_ns(n.graph, n.data(), groups, m, false) + constants_ns,
                             grouped_ns(n.graph, n.result(), groups, m, true));
  else
    dma_us =
        1e-3 * (read / std::min(rate, m.dram_gb_per_s * m.dram_read_efficiency) + constants_ns +
                written / std::min(rate, m.dram_gb_per_s * m.dram_write_efficiency));
  return std::max(cycles / m.clock_mhz, dma_us) +
         (m.layer_switch_cycles + 2.0 * m.dma_setup_cycles) / m.clock_mhz +
         2e-3 * m.dram_latency_ns;
}

double move_price_us(const Graph& g, ValueId v, const Machine& m, bool to_cpu) {
  const double bytes = bytes_of(g, v);
  const double cache_us = m.coherent ? 0 : cache_op_ns(m, static_cast<std::uint64_t>(bytes)) * 1e-3;
  // A dense NCHW tensor is scattered into NHWC one byte per SRAM word.
  const double scatter_us = bytes / m.clock_mhz;
  return (to_cpu ? m.interrupt_us : m.submit_us) + cache_us + scatter_us;
}

}  // namespace longshore
