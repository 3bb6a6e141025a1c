// What holds for every instruction: a new file in src/program/instructions/ is tested by being
// there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "npu_program.hpp"
#include "program/print.hpp"
#include "random.hpp"
#include "random_instruction.hpp"
#include "sim/execute.hpp"

namespace longshore::every_instruction_test {
namespace {

constexpr MemorySizes sizes{4096, 4096};

Machine machine() {
  Machine m = tests::small_machine();
  m.mac_alignment = 1;
  m.dtypes = m.dtypes | types(DType::i16, DType::i64, DType::u8, DType::f16);
  m.mac_i16_rate = 0.5, m.mac_i16_weights_rate = 0.25;
  return m;
}

/// 8 places of 4 KiB; a tile of 4 x 4 pixels of at most 64 bytes takes 1 KiB.
tests::Places places() {
  tests::Places p{.dram_bytes = 4096};
  for (std::uint32_t i = 0; i < 8; i++) p.sram.push_back(i * 4096);
  return p;
}

std::string param_name(const testing::TestParamInfo<const InstructionDef*>& info) {
  return info.param->name;
}

class EveryInstruction : public testing::TestWithParam<const InstructionDef*> {
 protected:
  const InstructionDef& def() const { return *GetParam(); }
  std::mt19937 rng{tests::seed()};
  Instruction draw() {
    const std::optional<Instruction> i =
        tests::random_instruction(def(), machine(), sizes, places(), rng);
    EXPECT_TRUE(i) << "no random operands are accepted";
    return i.value_or(Instruction());
  }
};
INSTANTIATE_TEST_SUITE_P(, EveryInstruction,
                         testing::ValuesIn(instructions::all().begin(), instructions::all().end()),
                         param_name);

TEST_P(EveryInstruction, IsDescribed) {
  EXPECT_EQ(instruction_named(def().name), &def()) << "two have the name";
  EXPECT_GT(std::string(def().doc).size(), 10u);
  EXPECT_FALSE(def().queues.empty());
  EXPECT_EQ(execution_of(Operation(def())) == nullptr, def().control)
      << "src/sim/instructions/ has its bytes and its time";
  if (def().queues.size() == 1 && def().queues[0] == Queue::vector) {
    EXPECT_TRUE(def().function != nullptr && !def().functions.empty()) << "nothing prices it";
  }
  for (const VectorFunction* f : def().functions)
    EXPECT_EQ(vector_functions()[index(*f)], f) << f->name;
}

/// The table covers the struct: each byte that is not padding is one field's.
TEST_P(EveryInstruction, ListsEachOperandOnce) {
  std::set<std::string> names;
  std::vector<int> covered(def().operands.size_bytes);
  for (const Field& f : def().fields) {
    EXPECT_TRUE(names.insert(f.name).second) << f.name << " stands twice";
    ASSERT_LE(f.offset + size_bytes(f.kind), covered.size()) << f.name;
    for (std::size_t b = 0; b < size_bytes(f.kind); b++) covered[f.offset + b]++;
  }
  for (std::size_t b = 0; b < covered.size(); b++) EXPECT_LE(covered[b], 1) << "byte " << b;
  // A hole wider than what alignment asks for is an operand that was forgotten.
  std::size_t hole = 0;
  for (std::size_t b = 0; b < covered.size() && !def().fields.empty(); b++) {
    hole = covered[b] ? 0 : hole + 1;
    EXPECT_LT(hole, 8u) << "bytes before " << b << " belong to no field";
  }
}

TEST_P(EveryInstruction, PrintsWhatIsNotUsual) {
  Instruction i;
  i.queue = def().queues[0];
  i.operation = Operation(def());
  EXPECT_EQ(print(i).find('='),
            def().control && !def().fields.empty() && def().fields[0].role == Role::semaphore
                ? print(i).find("=0")
                : std::string::npos);
  for (const Field& f : def().fields) {
    Instruction other = i;
    visit_field(f, other.operation.operands(), [&]<class T>(T& x) {
      if constexpr (std::is_same_v<T, bool>)
        x = !x;
      else
        x = static_cast<T>(x + 1);
    });
    EXPECT_FALSE(other == i) << f.name;
    EXPECT_NE(print(other).find(" " + std::string(f.name) + "="), std::string::npos) << f.name;
  }
}

/// Each field of an accepted instruction, just outside of what it may be.
TEST_P(EveryInstruction, RefusesEachExtreme) {
  const Instruction good = draw();
  const auto refused = [&](const Field& f, auto value) {
    Instruction bad = good;
    visit_field(f, bad.operation.operands(), [&]<class T>(T& x) { x = static_cast<T>(value); });
    EXPECT_FALSE(check(machine(), sizes, bad).ok()) << print(bad);
  };
  for (const Field& f : def().fields) {
    if (f.role == Role::scale)
      for (float x : {0.0f, -1.0f, HUGE_VALF, NAN}) refused(f, x);
    if (f.kind == FieldKind::flag || f.role == Role::scale) continue;
    if (f.role == Role::dtype)
      for (int t = 0; t < 256; t++)
        if (t >= dtype_count || !f.types.has(DType(t)) || !machine().dtypes.has(DType(t)))
          refused(f, t);
    if (f.role == Role::code && f.kind == FieldKind::i32) {
      refused(f, 40000);
      refused(f, -40000);
    }
    if (f.role == Role::extent) refused(f, 0);
    if (f.highest < 255 || f.role == Role::extent || f.role == Role::padding)
      refused(f, f.highest + 1);
    if (f.role == Role::address && uses(good.operation, f.name)) refused(f, 0xfffffff0u);
    if (f.role == Role::semaphore) refused(f, machine().semaphores);
  }
  for (int q = 0; q < 5; q++) {
    Instruction bad = good;
    bad.queue = Queue(q);
    const bool takes =
        std::find(def().queues.begin(), def().queues.end(), Queue(q)) != def().queues.end();
    if (!takes) {
      EXPECT_FALSE(check(machine(), sizes, bad).ok()) << print(bad);
    }
  }
  Instruction bad = good;
  bad.core = 1;
  EXPECT_FALSE(check(machine(), sizes, bad).ok());
}

TEST_P(EveryInstruction, NeedsWhatItsVectorFunctionCosts) {
  const Instruction i = draw();
  if (def().function == nullptr || i.queue != Queue::vector) return;
  Machine lacking = machine();
  lacking.cycles_of(def().function(i.operation.operands())) = 0;
  EXPECT_FALSE(check(lacking, sizes, i).ok());
  Machine slow = machine();
  slow.cycles_of(def().function(i.operation.operands())) = 3;
  EXPECT_GT(compute_cycles(slow, i.operation), compute_cycles(machine(), i.operation));
}

/// SRAM, arena and constants.
struct Memories {
  std::vector<std::byte> constants;
  NpuMemory memory;
  explicit Memories(std::mt19937& rng)
      : constants(random_bytes(sizes.constants, rng)),
        memory(machine(), sizes.arena, constants, false) {
    for (const std::span<std::byte> bytes : {memory.sram(0), memory.dram()})
      std::ranges::copy(random_bytes(bytes.size(), rng), bytes.begin());
  }
  static std::vector<std::byte> random_bytes(std::size_t n, std::mt19937& rng) {
    std::vector<std::byte> out(n);
    for (std::byte& b : out) b = static_cast<std::byte>(rng());
    return out;
  }
  std::span<std::byte> bytes(Space s) {
    return s == Space::sram ? memory.sram(0) : s == Space::arena ? memory.dram() : constants;
  }
};

/// What lies outside of its regions an instruction neither changes nor looks at.
TEST_P(EveryInstruction, TouchesItsRegionsAlone) {
  if (def().control) return;
  int ran = 0;
  for (int n = 0; n < 60; n++) {
    const Instruction i = draw();
    if (HasFailure()) return;
    Memories a(rng), b(rng);
    std::vector<unsigned char> written[2];
    for (Space s : {Space::sram, Space::arena})
      written[static_cast<int>(s)].resize(a.bytes(s).size());
    bool restricted = false;
    for (const Region& r : regions_of(i)) {
      restricted |= r.restricted;
      each_run(r, [&](std::uint64_t begin, std::uint64_t end) {
        if (r.write)
          std::memset(written[static_cast<int>(r.space)].data() + begin, 1, end - begin);
        else
          std::copy_n(a.bytes(r.space).begin() + static_cast<std::ptrdiff_t>(begin), end - begin,
                      b.bytes(r.space).begin() + static_cast<std::ptrdiff_t>(begin));
      });
    }
    const std::vector<std::byte> before(a.bytes(Space::sram).begin(), a.bytes(Space::sram).end());
    Workspace work;
    const Status done = execute(i, a.memory, work), again = execute(i, b.memory, work);
    ASSERT_EQ(done.ok(), again.ok()) << print(i);
    if (!done.ok()) {
      EXPECT_TRUE(restricted) << print(i) << ": " << done.text();
      continue;
    }
    ran++;
    for (std::size_t at = 0; at < before.size(); at++)
      ASSERT_TRUE(written[0][at] || a.bytes(Space::sram)[at] == before[at])
          << "it changes byte " << at << ": " << print(i);
    for (Space s : {Space::sram, Space::arena})
      for (std::size_t at = 0; at < written[static_cast<int>(s)].size(); at++)
        ASSERT_TRUE(!written[static_cast<int>(s)][at] || a.bytes(s)[at] == b.bytes(s)[at])
            << "byte " << at << " depends on what it does not read: " << print(i);
  }
  EXPECT_GT(ran, 10);
}

/// `uses` says no only of operands whose change changes nothing.
TEST_P(EveryInstruction, OperandsThatItDoesNotUseHaveNoEffect) {
  if (def().control) return;
  for (int n = 0; n < 60; n++) {
    const Instruction i = draw();
    if (HasFailure()) return;
    for (const Field& f : def().fields) {
      if (uses(i.operation, f.name)) continue;
      Instruction other = i;
      visit_field(f, other.operation.operands(), [&]<class T>(T& x) {
        if constexpr (std::is_same_v<T, bool>)
          x = !x;
        else if constexpr (std::is_same_v<T, float>)
          x *= 3;
        else
          x = static_cast<T>(x + (f.role == Role::stride || f.role == Role::address ? 64 : 1));
      });
      if (!check(machine(), sizes, other).ok()) continue;
      const unsigned contents = rng();
      std::mt19937 first(contents), second(contents);
      Memories a(first), b(second);
      Workspace work;
      const Status done = execute(i, a.memory, work), again = execute(other, b.memory, work);
      ASSERT_EQ(done.ok(), again.ok()) << print(i) << " and " << print(other);
      for (Space s : {Space::sram, Space::arena})
        ASSERT_TRUE(std::ranges::equal(a.bytes(s), b.bytes(s)))
            << f.name << " has an effect: " << print(i) << " and " << print(other);
      EXPECT_EQ(compute_cycles(machine(), i.operation), compute_cycles(machine(), other.operation));
    }
  }
}

/// An instruction that this build does not know: nine operands, one more than Regions hold.
struct Nine {
  static const InstructionDef& def;
  std::uint32_t address = 0;
};
void nine_regions(const Nine& n, Queue, Regions& out) {
  for (std::uint32_t i = 0; i < 9; i++) out.add(plain_region("address", n.address + 64 * i, 1));
}
constexpr auto nine_fields = field_list(LONGSHORE_FIELD(Nine, address, address));
const InstructionDef nine_def = {.name = "nine",
                                 .doc = "Reads nine places.",
                                 .queues = {Queue::vector},
                                 .operands = {sizeof(Nine), nullptr},
                                 .fields = nine_fields,
                                 .regions = erased<nine_regions>};
const InstructionDef& Nine::def = nine_def;

TEST(Regions, MoreThanTheyHoldAreRefused) {
  Instruction i;
  i.queue = Queue::vector, i.operation = Nine();
  const Regions regions = regions_of(i);
  EXPECT_EQ(regions.count, Regions::capacity);
  EXPECT_TRUE(regions.overflow);
  EXPECT_FALSE(check(machine(), sizes, i).ok());
}

}  // namespace
}  // namespace longshore::every_instruction_test
