#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "allocations.hpp"
#include "base/codec.hpp"
#include "ir/codec.hpp"
#include "ir/op.hpp"
#include "lower/cpu.hpp"
#include "measure/runner.hpp"
#include "onnx_model.hpp"
#include "program/bundle.hpp"
#include "program/codec.hpp"
#include "program/instructions/end.hpp"
#include "program/instruction_def.hpp"
#include "program/print.hpp"
#include "random.hpp"
#include "write/bundle.hpp"

namespace longshore::tests::bundle_test {
namespace {

using testing::HasSubstr;

/// Weights, a quantised value, an If with captures, symbols, attributes of several kinds.
BundleContents contents() {
  BundleContents c;
  c.graph = parse(R"(demo (x: f32[N, 3], c: bool[]) numbers=fixed31_double {
    w = f32[2,3]{1, 2, 3, 4, 5, 6}
    again = f32[2,3]{1, 2, 3, 4, 5, 6}
    q: i8[2,3] q([0.5, 0.25], [0, 1], axis=0) = longshore.Quantize(w)
    d = longshore.Dequantize(q)
    s = Shape(x, start=-1) @"the node" 15 "Shp"
    y = If(c) then_branch=() { a = Add(x, w) return a } else_branch=() { b = Relu(x) return b }
    z = Add(d, again)
    return y, s, z
  })");
  c.program = lower::lower_cpu(c.graph);
  c.target = "[clock]\nmhz = 1000\n";
  c.choices = "--force y=cpu\n";
  c.report = "{}";
  c.pictures = "--std 1\n";
  return c;
}

Result<Bundle> open(std::vector<std::byte> bytes) {
  return Bundle::open(make_blob(std::move(bytes)));
}

TEST(Bundle, HoldsWhatWasPutIn) {
  const BundleContents c = contents();
  const std::vector<std::byte> bytes = bundle_bytes(c);
  EXPECT_EQ(bytes, bundle_bytes(contents())) << "equal contents must give equal bytes";
  const Result<Bundle> bundle = open(bytes);
  ASSERT_TRUE(bundle.ok()) << bundle.status().text();
  EXPECT_EQ(bundle->text(Section::target), c.target);
  EXPECT_EQ(bundle->text(Section::choices), c.choices);
  EXPECT_EQ(bundle->text(Section::report), c.report);
  EXPECT_EQ(bundle->text(Section::pictures), c.pictures);
  const Graph graph = decode_graph(bundle->section(Section::graph), bundle->constants());
  EXPECT_TRUE(graph == c.graph) << print(graph);
  const Result<Program> program = bundle->program();
  ASSERT_TRUE(program.ok()) << program.status().text();
  EXPECT_EQ(bundle_bytes({graph, *program, c.target, c.choices, c.report, c.pictures}), bytes);
  Program moved = c.program;  // in memory each constant lies for itself
  for (std::size_t i = 0; i < moved.values.size(); i++)
    moved.values[i].offset = program->values[i].offset;
  EXPECT_EQ(encode(*program), encode(moved));
  std::size_t constants = 0;
  for (std::size_t i = 0; i < program->values.size(); i++) {
    const ProgramValue &got = program->values[i], &want = c.program.values[i];
    if (want.storage != Storage::constant) continue;
    const auto n = static_cast<std::size_t>(want.shape.elements()) * size_bytes(want.dtype);
    EXPECT_TRUE(std::ranges::equal(constant_bytes(*program, got).first(n),
                                   constant_bytes(c.program, want).first(n)));
    constants++;
  }
  EXPECT_EQ(constants, 2u);
  EXPECT_LE(bundle->constants()->size(), 64u + 24u) << "weights are stored twice";
}

TEST(Bundle, ItsProgramRuns) {
  const BundleContents c = contents();
  TemporaryFolder folder;
  const std::string path = folder.path() / "m.lsb";
  write_bundle(path, c);
  EXPECT_TRUE(read_model(path).graph == c.graph);
  const Result<Bundle> bundle = Bundle::open(path);
  ASSERT_TRUE(bundle.ok()) << bundle.status().text();
  const Result<Program> program = bundle->program();
  ASSERT_TRUE(program.ok());
  LoadOptions options;
  options.operators = operator_table();
  const Result<Model> model = Model::load(*program, options);
  ASSERT_TRUE(model.ok()) << model.status().text();
  Result<Context> context = Context::create(*model);
  ASSERT_TRUE(context.ok()) << context.status().text();
  const Tensor x = make_floats(Shape{2, 3}, std::vector<float>{-1, 0, 1, 2, 3, 4});
  const Bool8 yes(true);
  const Tensor flag = make_tensor<Bool8>(DType::boolean, Shape{}, std::span(&yes, 1));
  const TensorView inputs[] = {x.view(), flag.view()};
  const Status status = context->run(inputs);
  ASSERT_TRUE(status.ok()) << status.text();
  const std::vector<Tensor> want = evaluate(c.graph, std::vector{x, flag});
  for (std::size_t i = 0; i < want.size(); i++) EXPECT_EQ(copy_tensor(context->output(i)), want[i]);
}

/// Each operand of each operation gets a number of its own and must come back.
TEST(Bundle, KeepsEveryOperandOfEveryInstruction) {
  Program p;
  p.machine.present = true;
  p.machine.name = "made up";
  int next = 1;
  const auto change = [&](auto& x) {
    using T = std::remove_reference_t<decltype(x)>;
    if constexpr (std::is_same_v<T, bool>)
      x = !x;
    else if constexpr (std::is_enum_v<T>)
      x = T(1);
    else
      x = static_cast<T>(next++ % 100);
  };
  Machine::each(p.machine, [&](const char*, const char*, auto& x) { change(x); });
  for (const InstructionDef* def : instructions::all()) {
    Operation o(*def);
    for (const Field& f : def->fields)
      visit_field(f, o.operands(), [&]<class T>(T& x) {
        if constexpr (std::is_same_v<T, std::uint8_t>)
          x = static_cast<T>(f.highest);
        else
          change(x);
      });
    p.queues[2].push_back({Queue::mac, 3, 17, o});
  }
  const Result<Program> back = decode_program(encode(p), make_blob({}));
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(back->machine, p.machine);
  EXPECT_EQ(back->queues[2], p.queues[2]);
}

/// Instructions are named in a bundle, with the bytes of their operands: another build may know
/// others, or know them otherwise.
TEST(Bundle, InstructionsThatAreNotKnownAreErrors) {
  Program p;
  p.machine.present = true;
  p.queues[3].push_back({Queue::vector, 0, no_index, Operation(*instruction_named("eltwise"))});
  const std::vector<std::byte> good = encode(p);
  ASSERT_TRUE(decode_program(good, make_blob({})).ok());
  const std::string_view text(reinterpret_cast<const char*>(good.data()), good.size());
  const std::size_t name = text.find("eltwise");
  ASSERT_NE(name, std::string_view::npos);
  const auto message = [&](std::size_t at, int value) {
    std::vector<std::byte> bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    const Result<Program> back = decode_program(bytes, make_blob({}));
    return std::string(back.ok() ? "it was read" : back.status().text());
  };
  EXPECT_THAT(message(name, 'E'), HasSubstr("an instruction is not known"));
  EXPECT_THAT(message(name + 7, 1), HasSubstr("an instruction has other operands"));
  // Queue, core and layer of the one instruction, then which of the named it is.
  const std::size_t kind = name + 7 + 4 + 3 * 4 + 4 + 1 + 1 + 4;
  EXPECT_THAT(message(kind, 1), HasSubstr("an instruction is not known"));
  EXPECT_THAT(message(kind + 1, 3), HasSubstr("a code is not known"));  // Eltwise::function
}

/// What a vector unit can do is named as well; a function that this build lacks is no matter.
TEST(Bundle, VectorFunctionsThatAreNotKnownAreLeftOut) {
  Program p;
  p.machine.present = true;
  p.machine.vector_cycles[0] = 7;
  std::vector<std::byte> bytes = encode(p);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string name = vector_functions()[0]->name;
  bytes[text.find(name)] = std::byte{'~'};
  const Result<Program> back = decode_program(bytes, make_blob({}));
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(back->machine.vector_cycles[0], 0);
  EXPECT_EQ(back->machine.vector_cycles[1], p.machine.vector_cycles[1]);
}

// What a file claims is bounded by what it holds.
TEST(Bundle, ACountAloneTakesNoMemory) {
  Encoder e;
  e.number(false);  // no machine
  e.number(Rounding::f32_even);
  e.number(std::uint32_t{3'000'000});  // values
  std::vector<std::byte> bytes = e.take();
  bytes.resize(bytes.size() + std::size_t{3'000'000} * 32, std::byte{0xff});
  const std::size_t before = allocated_bytes();
  EXPECT_FALSE(decode_program(bytes, make_blob({})).ok());
  EXPECT_LT(allocated_bytes() - before, 100'000u);
}

TEST(Bundle, MemoryIsBoundedByTheSize) {
  Program p;
  p.machine.present = true;
  p.queues[0].resize(1);  // End: the shortest instruction
  p.queues[0][0].operation = End{};
  const std::size_t one = encode(p).size();
  p.queues[0].resize(2, p.queues[0][0]);
  const std::size_t each = encode(p).size() - one;
  if (each * Decoder::most_memory_per_byte >= sizeof(Instruction))
    GTEST_SKIP() << "nothing is so much larger in memory than in a file";
  for (const std::size_t count : {50'000u, 140'000u, 300'000u}) {
    p.queues[0].resize(count, p.queues[0][0]);
    const std::vector<std::byte> bytes = encode(p);
    const std::size_t before = allocated_bytes();
    const Result<Program> back = decode_program(bytes, make_blob({}));
    EXPECT_LE(allocated_bytes() - before, 30 * bytes.size() + 1'000'000);
    EXPECT_THAT(back.status().text(), HasSubstr("far more memory"));
  }
  p.queues[0].resize(1000);
  EXPECT_TRUE(decode_program(encode(p), make_blob({})).ok());
}

/// Calls `decode` with the bytes and many zeros behind them, for each place and several large
/// counts at that place: whatever is a count there is believed as far as what follows allows it.
template <class F>
void claim_large_counts(const std::vector<std::byte>& whole, F&& decode) {
  constexpr std::size_t filler = 300'000;
  std::vector<std::byte> bytes = whole;
  bytes.resize(whole.size() + filler);
  std::size_t most = 0;
  for (std::size_t at = 0; at + 4 <= whole.size(); at++) {
    std::uint32_t before = 0;
    std::memcpy(&before, whole.data() + at, 4);
    if (before > 1000) continue;  // no count of this file
    for (const std::size_t least_bytes_each : {32u, 24u, 8u, 7u, 4u, 1u}) {
      const auto count = static_cast<std::uint32_t>(filler / least_bytes_each);
      std::memcpy(bytes.data() + at, &count, 4);
      const std::size_t before_it = allocated_bytes();
      decode(bytes);
      const std::size_t taken = allocated_bytes() - before_it;
      EXPECT_LE(taken, 30 * bytes.size() + 1'000'000) << count << " at byte " << at;
      most = std::max(most, taken);
    }
    std::memcpy(bytes.data() + at, &before, 4);
  }
  EXPECT_TRUE(most > bytes.size() || allocations() < 0) << "no count was believed";
}

TEST(Bundle, LargeCountsTakeMemoryByTheSizeOfTheFile) {
  BundleContents c = contents();
  const Result<Bundle> bundle = open(bundle_bytes(c));
  ASSERT_TRUE(bundle.ok());
  claim_large_counts(
      std::vector(bundle->section(Section::graph).begin(), bundle->section(Section::graph).end()),
      [&](const auto& bytes) {
        try {
          decode_graph(bytes, bundle->constants());
        } catch (const Error&) {
        }
      });
  c.program.machine.present = true;
  for (const InstructionDef* def : instructions::all())
    c.program.queues[0].push_back({Queue::mac, 0, 0, Operation(*def)});
  claim_large_counts(encode(c.program),
                     [&](const auto& bytes) { (void)decode_program(bytes, make_blob({})); });
}

TEST(Bundle, EveryCutIsAnError) {
  const std::vector<std::byte> whole = bundle_bytes(contents());
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < 64; i++) places.push_back(i * whole.size() / 64);
  for (std::size_t i = 0; i < 300; i++) places.push_back(i);
  places.push_back(whole.size() - 1);
  for (const std::size_t cut : places)
    EXPECT_FALSE(open({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut)}).ok())
        << cut;
}

TEST(Bundle, EveryFlippedBitIsAnError) {
  const std::vector<std::byte> whole = bundle_bytes(contents());
  std::mt19937 rng(seed());
  const auto flipped = [&](std::size_t bit) {
    std::vector<std::byte> bytes = whole;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    return open(std::move(bytes));
  };
  for (int i = 0; i < 500; i++) {
    const std::size_t bit = rng() % (whole.size() * 8);
    EXPECT_FALSE(flipped(bit).ok()) << "bit " << bit;
  }
  for (std::size_t bit = 0; bit < 512 * 8; bit++)
    EXPECT_FALSE(flipped(bit).ok()) << "bit " << bit;  // header, table, padding
}

TEST(Bundle, NothingMayFollow) {
  std::vector<std::byte> bytes = bundle_bytes(contents());
  bytes.push_back(std::byte{0});
  EXPECT_THAT(open(bytes).status().text(), HasSubstr("expected"));
  EXPECT_THAT(open({}).status().text(), HasSubstr("not a bundle"));
  EXPECT_THAT(Bundle::open("/nowhere/x.lsb").status().text(), HasSubstr("cannot open"));
}

/// Hashes keep accidents out, not malice: the decoders must survive bytes that were made up.
TEST(Bundle, MadeUpSectionsAreErrorsNotCrashes) {
  const BundleContents c = contents();
  const Result<Bundle> bundle = open(bundle_bytes(c));
  ASSERT_TRUE(bundle.ok());
  std::mt19937 rng(seed());
  const auto damaged = [&](Section s) {
    const auto from = bundle->section(s);
    std::vector<std::byte> bytes(from.begin(), from.end());
    for (unsigned k = 1 + rng() % 3; k-- > 0;) {
      const std::size_t at = rng() % bytes.size();
      if (rng() % 2)
        bytes[at] = static_cast<std::byte>(rng());
      else
        bytes[at] ^= std::byte{1} << (rng() % 8);
    }
    if (rng() % 8 == 0) bytes.resize(rng() % bytes.size());
    return bytes;
  };
  int errors = 0, ran = 0;
  for (int i = 0; i < 2000; i++) {
    try {
      decode_graph(damaged(Section::graph), bundle->constants());
    } catch (const Error& e) {
      EXPECT_NE(e.code(), Code::internal) << e.what();
      errors++;
    }
    const Result<Program> program = decode_program(damaged(Section::program), bundle->constants());
    if (!program.ok()) {
      errors++;
      continue;
    }
    LoadOptions options;
    options.operators = operator_table();
    options.memory_limit_bytes = std::uint64_t{1} << 26;
    const Result<Model> model = Model::load(*program, options);
    Result<Context> context =
        model.ok() ? Context::create(*model) : Result<Context>(model.status());
    if (!context.ok()) {
      errors++;
      continue;
    }
    const std::vector<float> x(6, 1);
    const Bool8 yes(true);
    const TensorView inputs[] = {{DType::f32, Shape{2, 3}, x.data(), {}},
                                 {DType::boolean, Shape{}, &yes, {}}};
    if (!context->run(inputs).ok()) errors++;  // an answer or an error: the sanitizers look on
    ran++;
  }
  EXPECT_GT(errors, 1000);
  EXPECT_GT(ran, 100);
}

}  // namespace
}  // namespace longshore::tests::bundle_test
