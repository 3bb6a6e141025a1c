#pragma once
#include <cstring>
#include <random>
#include <vector>

#include "program/instructions/conv.hpp"
#include "program/instructions/copy.hpp"
#include "program/instructions/dma.hpp"
#include "program/instructions/eltwise.hpp"
#include "program/instructions/end.hpp"
#include "program/instructions/fill.hpp"
#include "program/instructions/mark.hpp"
#include "program/instructions/norm.hpp"
#include "program/instructions/pool.hpp"
#include "program/instructions/reduce.hpp"
#include "program/instructions/softmax.hpp"
#include "program/instructions/requantise.hpp"
#include "program/instructions/resize.hpp"
#include "program/instructions/signal.hpp"
#include "program/instructions/table.hpp"
#include "program/instructions/wait.hpp"
#include "sim/simulate.hpp"

namespace longshore::tests {

inline Machine small_machine() {
  Machine m;
  m.present = true;
  m.sram_bytes = 32768;
  return m;
}

/// A pipeline by hand: the CPU writes x, the NPU loads it in tiles of 512 bytes into two buffers,
/// runs a 1x1 convolution of 16 to 16 channels and a table on each, stores y, and the CPU reads y.
///   semaphores: 0 start (CPU to dma_in), 1 loaded, 2 in free, 3 computed, 4 middle free, 5 ready,
///   6 out free, 7 stored (dma_out to CPU)
struct Pipeline {
  static constexpr std::uint32_t tile_bytes = 512, weights = 4096, parameters = 4352, table = 4608;
  static constexpr std::uint32_t in[2] = {0, 2048}, middle[2] = {10240, 12288},
                                 out[2] = {14336, 16384};
  static constexpr std::uint64_t x = 0, y = 8192;
  std::uint32_t tiles;
  Program program;

  explicit Pipeline(std::uint32_t tiles = 4, unsigned seed = 1) : tiles(tiles) {
    Program& p = program;
    p.machine = small_machine();
    p.arena_bytes = 16384;
    p.layers = {"conv", "table"};
    p.values.push_back(value("x", x));
    p.values.push_back(value("y", y));
    std::mt19937 rng(seed);
    std::vector<std::byte> constants(256 + 256 + 256);
    for (std::byte& b : constants) b = static_cast<std::byte>(rng());
    for (int o = 0; o < 16; o++) {
      const Multiplier m = make_multiplier(0.02f, 0.01f, 0.1f);
      const ChannelParameters c{o * 10 - 80, m.real, m.fixed, m.exponent};
      std::memcpy(constants.data() + 256 + o * 16, static_cast<const void*>(&c), 16);
    }
    p.constants = make_blob(std::move(constants));

    cpu_op("write", {}, {0});
    cache(Step::Kind::clean, x);
    cpu(Step::Kind::signal, 0);
    cpu(Step::Kind::wait, 7);
    cache(Step::Kind::invalidate, y);
    cpu_op("read", {1}, {});

    load(Dram::constants, 0, weights, 768, 0);
    add(Queue::dma_in, Wait{0});
    for (std::uint32_t t = 0; t < tiles; t++) {
      const std::uint32_t b = t % 2;
      if (t >= 2) add(Queue::dma_in, Wait{2});
      load(Dram::arena, x + t * tile_bytes, in[b], tile_bytes, 0);
      add(Queue::dma_in, Signal{1});

      add(Queue::mac, Wait{1});
      if (t >= 2) add(Queue::mac, Wait{4});
      add(Queue::mac, conv(in[b], middle[b]), 0);
      if (t + 2 < tiles) add(Queue::mac, Signal{2});
      add(Queue::mac, Signal{3});

      add(Queue::vector, Wait{3});
      if (t >= 2) add(Queue::vector, Wait{6});
      Table lookup;
      lookup.in = tile(middle[b]), lookup.out = tile(out[b]), lookup.table = table;
      lookup.height = 4, lookup.width = 8, lookup.channels = 16;
      add(Queue::vector, lookup, 1);
      if (t + 2 < tiles) add(Queue::vector, Signal{4});
      add(Queue::vector, Signal{5});

      add(Queue::dma_out, Wait{5});
      Dma store;
      store.dram_address = y + t * tile_bytes, store.sram_address = out[b],
      store.run_bytes = tile_bytes;
      add(Queue::dma_out, store, 1);
      if (t + 2 < tiles) add(Queue::dma_out, Signal{6});
    }
    add(Queue::dma_out, Signal{7});
  }

  ProgramValue value(const char* name, std::uint64_t offset) const {
    ProgramValue v;
    v.name = name;
    v.dtype = DType::i8;
    v.shape.push(static_cast<std::int64_t>(tiles) * tile_bytes);
    v.storage = Storage::arena;
    v.offset = offset;
    return v;
  }
  static Tile tile(std::uint32_t address) { return {address, 128, 16}; }
  static Conv conv(std::uint32_t from, std::uint32_t to) {
    Conv c;
    c.in = tile(from), c.out = tile(to);
    c.in_h = c.out_h = 4, c.in_w = c.out_w = 8, c.in_c = c.out_c = 16;
    c.weights = weights, c.weight_out_stride = 16, c.weight_tap_stride = 16,
    c.parameters = parameters;
    c.in_zero = 3, c.out_zero = -4;
    return c;
  }
  void add(Queue queue, const Operation& operation, std::uint32_t layer = no_index) {
    Instruction i;
    i.queue = queue, i.operation = operation, i.layer = layer;
    list(queue).push_back(i);
  }
  void load(Dram dram, std::uint64_t from, std::uint32_t to, std::uint32_t bytes,
            std::uint32_t layer) {
    Dma d;
    d.dram = dram, d.dram_address = from, d.sram_address = to, d.run_bytes = bytes;
    add(Queue::dma_in, d, layer);
  }
  void cpu(Step::Kind kind, std::uint32_t semaphore) {
    Step s;
    s.kind = kind, s.semaphore = semaphore;
    program.steps.push_back(s);
  }
  void cache(Step::Kind kind, std::uint64_t offset) {
    Step s;
    s.kind = kind, s.offset = offset, s.bytes = std::uint64_t{tiles} * tile_bytes;
    program.steps.push_back(s);
  }
  void cpu_op(const char* name, std::vector<std::uint32_t> inputs,
              std::vector<std::uint32_t> outputs) {
    Step s;
    s.name = name, s.inputs = std::move(inputs), s.outputs = std::move(outputs), s.cost_us = 5;
    program.steps.push_back(s);
  }
  std::vector<Instruction>& list(Queue q) { return program.queues[static_cast<int>(q)]; }
  /// The n-th instruction of the kind in the queue's list.
  template <class O>
  std::uint32_t find(Queue q, std::uint32_t n = 0) {
    for (std::uint32_t i = 0; i < list(q).size(); i++)
      if (list(q)[i].operation.template is<O>() && n-- == 0) return i;
    return no_index;
  }
  template <class O>
  O& at(Queue q, std::uint32_t n = 0) {
    return *list(q)[find<O>(q, n)].operation.template get_if<O>();
  }
  void erase(Queue q, std::uint32_t index) { list(q).erase(list(q).begin() + index); }

  /// y as the formulas give it.
  std::vector<std::int8_t> expected(const std::vector<std::int8_t>& input) const {
    const auto* c = reinterpret_cast<const std::int8_t*>(program.constants->bytes().data());
    std::vector<std::int8_t> result(input.size());
    for (std::size_t pixel = 0; pixel < input.size() / 16; pixel++)
      for (std::size_t o = 0; o < 16; o++) {
        std::int32_t sum = static_cast<std::int32_t>(o) * 10 - 80;
        for (std::size_t i = 0; i < 16; i++) sum += (input[pixel * 16 + i] - 3) * c[o * 16 + i];
        const int q =
            requantise(sum, make_multiplier(0.02f, 0.01f, 0.1f), -4, -128, 127, Rounding::f32_even);
        result[pixel * 16 + o] = c[512 + q + 128];
      }
    return result;
  }
};

/// Writes `input` at x in step "write", reads `output` from y in step "read".
struct PipelineHost final : Host {
  std::vector<std::int8_t> input, output;
  explicit PipelineHost(const Pipeline& p, unsigned seed = 7)
      : input(p.tiles * Pipeline::tile_bytes), output(input.size()) {
    std::mt19937 rng(seed);
    for (std::int8_t& v : input) v = static_cast<std::int8_t>(rng());
  }
  Status run_step(const Step& step, std::size_t, std::span<std::byte> arena) noexcept override {
    if (step.name == "write") std::memcpy(arena.data() + Pipeline::x, input.data(), input.size());
    if (step.name == "read") std::memcpy(output.data(), arena.data() + Pipeline::y, output.size());
    return {};
  }
};

}  // namespace longshore::tests
