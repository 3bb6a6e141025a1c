// Prices before anything is planned: a roofline per node. The plan's tile search gives better ones.
#include <algorithm>

#include "place/price.hpp"
#include "program/instructions/eltwise.hpp"
#include "program/instructions/pool.hpp"
#include "program/instructions/reduce.hpp"
#include "program/instructions/requantise.hpp"
#include "program/instructions/resize.hpp"
#include "program/instructions/table.hpp"
#include "sim/costs.hpp"

namespace longshore {
namespace {

double bytes_of(const Graph& g, ValueId v) {
  const std::optional<Shape> s = v == no_value ? std::nullopt : g[v].type.shape();
  return s ? static_cast<double>(s->elements()) * static_cast<double>(size_bytes(g[v].type.dtype))
           : 0;
}

double output_elements(const Graph& g, const Node& n) {
  double out = 0;
  for (ValueId v : n.outputs)
    if (v != no_value)
      if (const auto s = g[v].type.shape()) out += static_cast<double>(s->elements());
  return out;
}

std::uint32_t small(std::int64_t v) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(v, 0, 0xffffffff));
}

}  // namespace

std::int64_t node_macs(const Graph& g, const Node& n) {
  return n.op->macs && n.output() != no_value && n.input(0) != no_value ? n.op->macs({n, g}) : 0;
}

double cpu_price_us(const Graph& g, const Node& n, const HostCpu& cpu) {
  if (n.op->form == Form::view) return 0;
  const bool quantised = n.output() != no_value && g[n.output()].type.quantised();
  const auto rate = cpu.macs_per_cycle.find(quantised ? "i8" : "f32");
  const double peak = rate != cpu.macs_per_cycle.end() ? rate->second : 1;
  const double macs_us =
      static_cast<double>(node_macs(g, n)) / (peak * cpu.ghz * 1e3 * cpu.cores * cpu.efficiency);
  double bytes = 0;
  for (ValueId v : n.inputs) bytes += bytes_of(g, v);
  for (ValueId v : n.outputs) bytes += bytes_of(g, v);
  double element_us = 0;
  if (node_macs(g, n) == 0) {
    auto ns = cpu.ns_per_element.find(qualified_name(*n.op));
    if (ns == cpu.ns_per_element.end()) ns = cpu.ns_per_element.find("default");
    std::int64_t window = 1;
    if (n.op->form == Form::pool && n.op->facts) {
      const Facts facts = node_facts(g, n);
      const auto h = facts.find("kernel_h"), w = facts.find("kernel_w");
      if (h != facts.end() && w != facts.end()) window = h->second * w->second;
    }
    const double elements = n.op->form == Form::reduce
                                ? bytes_of(g, n.input(0))
                                : output_elements(g, n) * static_cast<double>(window);
    element_us = elements * ns->second * 1e-3;
  }
  return cpu.step_us + std::max({macs_us, bytes / (cpu.bandwidth_gbs * 1e3), element_us});
}

double npu_price_us(const Graph& g, const Node& n, Form form, const Machine& m) {
  if (form == Form::view) return 0;
  const std::optional<Extent> to = extent_of(g[n.output()].type),
                              from = extent_of(g[n.input(0)].type);
  if (!to || !from) return -1;
  double cycles = 0;
  const auto vector = [&](const VectorFunction& f, std::int64_t elements, std::int64_t window = 1) {
    cycles = vector_cycles(m, f, static_cast<std::uint64_t>(elements),
                           static_cast<std::uint64_t>(window));
  };
  const Facts facts = node_facts(g, n);
  const auto fact = [&](std::string_view key) {
    const auto at = facts.find(key);
    return at == facts.end() ? std::int64_t{1} : at->second;
  };
  switch (form) {
    case Form::mac:
    case Form::depthwise: {
      Conv c;
      c.depthwise = form == Form::depthwise;
      const std::int64_t groups = c.depthwise ? 1 : fact("groups");
      c.in_c = small(from->c / std::max<std::int64_t>(groups, 1));
      c.out_c = small(to->c / std::max<std::int64_t>(groups, 1));
      c.kernel_h = small(fact("kernel_h")), c.kernel_w = small(fact("kernel_w"));
      c.out_h = small(to->n * to->h), c.out_w = small(to->w);
      cycles = conv_cycles(m, c) * static_cast<double>(groups);
      break;
    }
    case Form::eltwise:
      vector(qualified_name(*n.op) == "Mul" ? vector_unit::multiply : vector_unit::add,
             to->elements());
      break;
    case Form::table:
      vector(vector_unit::table, to->elements());
      break;
    case Form::pool:
      vector(qualified_name(*n.op) == "AveragePool" ? vector_unit::average_pool
                                                    : vector_unit::max_pool,
             to->elements(), fact("kernel_h") * fact("kernel_w"));
      break;
    case Form::reduce:
      vector(vector_unit::reduce, from->elements());
      break;
    case Form::resize:
      vector(vector_unit::resize, to->elements());
      break;
    case Form::quantise:
      vector(vector_unit::requantise, to->elements());
      break;
    default:
      break;
  }
  double read = 0, written = 0;
  for (ValueId v : n.inputs) read += bytes_of(g, v);
  for (ValueId v : n.outputs) written += bytes_of(g, v);
  const double rate = std::min(m.dma_bytes_per_cycle * m.clock_mhz * 1e-3, m.dram_gb_per_s);
  const double dma_us = (read / std::min(rate, m.dram_gb_per_s * m.dram_read_efficiency) +
                         written / std::min(rate, m.dram_gb_per_s * m.dram_write_efficiency)) *
                        1e-3;
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
