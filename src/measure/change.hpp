// What the change of one instruction does to memory: for `compare --inject`, where a change that no
// layer shows is either proved to be dead or said not to be shown.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/simulate.hpp"

namespace longshore {

/// An instruction's place in Program::queues.
struct Place {
  Queue queue = Queue::dma_in;
  std::size_t index = 0;
};

struct ChangeEffect {
  /// It moves no bytes: only order and time can change, and the verifier has proved that every
  /// legal order gives the same bytes.
  bool control = false;
  /// Something reads a byte that either version of the instruction may write, before it is written
  /// again. By regions, whatever the bytes: false is a proof that the change has no effect.
  bool may_be_read = false;
  /// For some contents of the bytes that it reads, it writes other bytes than before the change.
  bool sensitive = false;
  std::uint64_t changed_bytes = 0;     // that differed right after it; the most of any sample
  std::vector<std::uint32_t> readers;  // layers that read such a byte, or one that follows from it
  bool sensitive_reader = false;  // a reader would write other bytes for other contents of these
  bool reaches_host = false;      // the caller looks at a byte that differs
};

/// Runs both programs side by side in one legal order, on the same inputs, and follows the bytes
/// that differ. The programs differ in the instruction at `place` alone; both must have passed the
/// verifier. The hosts run the CPU's steps of each. `seed` draws the contents for `sensitive`.
Result<ChangeEffect> effect_of_change(const Program& program, const Program& changed, Place place,
                                      Host& host, Host& changed_host, std::uint64_t seed);
/// Adds what another sample showed.
void merge(ChangeEffect&, const ChangeEffect& other);

/// What is said of a change that left every layer as it was.
struct Judgement {
  enum class Verdict : std::uint8_t {
    timing_only,
    dead,       // proved: nothing reads what the instruction writes, before or after the change
    not_shown,  // neither samples nor random contents show it, and nothing proves that none would
    unnoticed,  // other contents would show it, but these samples do not
  };
  Verdict verdict;
  std::string why;
};
Judgement judge(const ChangeEffect&, const Program&);

}  // namespace longshore
