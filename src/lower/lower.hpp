#pragma once
#include "plan/plan.hpp"
#include "program/program.hpp"
#include "sim/schedule.hpp"

namespace longshore::lower {

/// The program of a plan: four NPU queues and the CPU's steps. Program::layers[i] is
/// graph.nodes[i].
Program lower(const plan::Plan&);

/// What these tasks take alone, by the simulator: PlanOptions::time.
plan::LayerTime task_time(const plan::Plan&, std::span<const plan::Layer>,
                          std::span<const plan::TileTask>, bool through_dram);

/// What the simulator says of a plan's program. Throws where its engines would need more semaphores
/// than the target has.
Timing predicted(const plan::Plan&);

/// Nanoseconds of a plan's whole program by the simulator: PlanOptions::total. Infinite where
/// `predicted` throws for want of semaphores.
double predicted_ns(const plan::Plan&);

/// make_plan with the times of the simulator.
plan::Plan timed_plan(const Placement&, plan::PlanOptions = {});

/// The same program with added stores and waits, so that the output of every layer's every stage
/// can be compared: fused values and those whose memory is used again too.
struct Tapped {
  Program program;
  std::vector<ValueId> values;        // of the graph, in topological order
  std::vector<std::uint32_t> at;      // their places in program.values (row-major, in the arena)
  std::uint32_t first_semaphore = 0;  // taps use semaphores from here on
  std::uint64_t arena_bytes = 0;      // taps lie beyond
  /// Values of NPU nodes that no tap stores: they show bytes that the NPU did not make, or elements
  /// of a value that is seen under other dims before.
  std::vector<ValueId> without_bytes;
  std::size_t value_count = 0, output_count = 0;  // of the untapped program
};
Tapped lower_tapped(const plan::Plan&);

/// The instruction is one that taps added.
bool is_tap(const Tapped&, const Instruction&);

/// Takes away what the taps added: the shipped program.
Program remove_taps(const Tapped&);

}  // namespace longshore::lower
