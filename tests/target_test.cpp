// Target files: what is accepted, and what a wrong one is told.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "base/error.hpp"
#include "base/file.hpp"
#include "target/target.hpp"

namespace longshore::tests::target_test {
namespace {

using testing::HasSubstr;

std::string message(const std::string& toml) {
  try {
    parse_target(toml, "t.toml");
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::bad_model) << e.what();
    return e.what();
  }
  return "accepted";
}

/// A file that inherits everything and then says one more thing.
std::string like(const std::string& more) { return "name = \"t\"\nlike = \"shore-1\"\n" + more; }

TEST(Target, EveryFileLoads) {
  std::size_t npus = 0;
  for (const TargetName& t : target_names()) {
    const Target target = load_target(t.name);
    EXPECT_EQ(target.name, t.name);
    EXPECT_FALSE(target.doc.empty());
    npus += target.machine.present ? 1 : 0;
  }
  EXPECT_GE(npus, 2u);
}

TEST(Target, EveryNumberOfTheMachineIsAField) {
  std::set<std::string> fields, numbers;
  for (const MachineField& f : machine_fields()) fields.emplace(f.key);
  Machine m;
  Machine::each(m, [&](const char* section, const char* key, auto&) {
    numbers.insert(str(section, ".", key));
  });
  numbers.erase("requantise.roundings");  // npu.rounding names the modes
  numbers.erase("tiles.dtypes");          // npu.dtypes names the types
  EXPECT_EQ(fields, numbers);
}

TEST(Target, PrintsAsAFileOfItsOwn) {
  for (const TargetName& n : target_names()) {
    const Target t = load_target(n.name), again = parse_target(print(t), "again.toml");
    EXPECT_TRUE(again.machine == t.machine) << n.name;
    EXPECT_TRUE(again.cpu == t.cpu) << n.name;
    EXPECT_EQ(print(again), print(t));
    EXPECT_EQ(again.forms.size(), t.forms.size());
  }
}

TEST(Target, PricesOfVectorFunctionsMayBeAbsent) {
  Target t = load_target("shore-1");
  std::string text = print(t);
  const std::size_t at = text.find("resize_cycles");
  ASSERT_NE(at, std::string::npos);
  text.erase(at, text.find('\n', at) - at);
  const Target lacking = parse_target(text, "t.toml");
  for (const VectorFunction* f : vector_functions()) {
    const bool lacks = std::string(f->name) == "resize";
    EXPECT_EQ(lacking.machine.cycles_of(*f), lacks ? 0 : t.machine.cycles_of(*f)) << f->name;
  }
}

TEST(Target, DtypesOfTiles) {
  EXPECT_EQ(load_target("shore-1").machine.dtypes,
            types(DType::i8, DType::u8, DType::i16, DType::i32, DType::i64));
  const Target t = parse_target(like("[npu]\ndtypes = [\"i8\", \"i16\"]\n"), "t.toml");
  EXPECT_EQ(t.machine.dtypes, types(DType::i8, DType::i16, DType::i32, DType::i64))
      << "sums of 16-bit codes come with them";
  EXPECT_EQ(parse_target(print(t), "again.toml").machine.dtypes, t.machine.dtypes);
  EXPECT_THAT(message(like("[npu]\ndtypes = [\"i16\"]\n")), HasSubstr("\"i8\" among them"));
  EXPECT_THAT(message(like("[npu]\ndtypes = [\"int8\"]\n")), HasSubstr("element types"));
}

TEST(Target, InheritsAndOverrides) {
  const Target base = load_target("shore-1");
  const Target t =
      parse_target(like("[npu.sram]\nbytes = 4096\n[forms.mac]\nkernel_h = [1, 3]\n"), "t.toml");
  EXPECT_EQ(t.name, "t");
  EXPECT_EQ(t.machine.sram_bytes, 4096u);
  EXPECT_EQ(t.machine.mac_rows, base.machine.mac_rows);
  const auto limit = std::ranges::find(t.forms.at("mac").limits, "kernel_h", &FactLimit::fact);
  ASSERT_NE(limit, t.forms.at("mac").limits.end());
  EXPECT_EQ(limit->highest, 3);
  EXPECT_EQ(limit->where, "t.toml:6");
  EXPECT_EQ(t.forms.at("mac").limits.size(), base.forms.at("mac").limits.size());
}

TEST(Target, EnergyIsNotInherited) {
  ASSERT_GT(load_target("shore-1").machine.mac_pj, 0);
  EXPECT_EQ(parse_target(like(""), "t.toml").machine.mac_pj, 0);
  const Target own = parse_target(like("[npu.energy]\nmac_pj = 2"), "t.toml");
  EXPECT_EQ(own.machine.mac_pj, 2);
  EXPECT_EQ(own.machine.dram_byte_pj, 0);
}

// How far predictions were off was seen of one chip, with its numbers as they are.
TEST(Target, AnErrorIsOfThisChipAlone) {
  const std::string text = like(
      "[error]\nagainst = \"a \\\"board\\\"\"\nnets = 6\nmedian_percent = 2.5\nmost_percent = 7");
  const Target t = parse_target(text, "t.toml");
  EXPECT_EQ(t.error, (PredictionError{"a \"board\"", 6, 2.5, 7}));
  EXPECT_EQ(parse_target(print(t), "again").error, t.error);
  EXPECT_FALSE(parse_target(text, "t.toml", std::vector<std::string>{"cores=2"}).error);
  ASSERT_TRUE(load_target("rk3588-like").error);
  EXPECT_FALSE(load_target("rk3588-3cores-like").error);
}

TEST(Target, AnErrorThatIsNoneIsRefused) {
  const auto refused = [](const std::string& lines) {
    try {
      parse_target(like("[error]\n" + lines), "t.toml");
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("nothing refused");
  };
  EXPECT_THAT(refused("nets = 6"), testing::HasSubstr("error: missing key 'against'"));
  EXPECT_THAT(refused("nets = 0"), testing::HasSubstr("error.nets: expected an integer from 1"));
  EXPECT_THAT(refused("mean = 3"),
              testing::HasSubstr("unknown key 'error.mean'; expected one of: against"));
  EXPECT_THAT(
      refused("against = \"x\"\nnets = 2\nmedian_percent = 9\nmost_percent = 8"),
      testing::HasSubstr("error.median_percent: expected at most error.most_percent (8), found 9"));
}

/// shore-1 with these `--set`.
Target with(const std::vector<std::string>& changes) { return load_target("shore-1", changes); }

std::string message(const std::vector<std::string>& changes) {
  try {
    with(changes);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Target, NumbersCanBeSetWithoutAFile) {
  const Target base = load_target("shore-1");
  const Target t =
      with({"sram=1.5MiB", "npu.mac.dataflow=output_stationary", "dram.gb_per_s=4",
            "cache.coherent=true", "vector.softmax_cycles=0", "cpu.ghz=3",
            "cpu.ns_per_element.com.microsoft.FusedConv=7", "forms.mac.kernel_h=[1, 3]",
            "ops.com.microsoft.FusedConv.supported=false"});
  EXPECT_EQ(t.machine.sram_bytes, 1536u * 1024);
  EXPECT_EQ(t.machine.dataflow, Dataflow::output_stationary);
  EXPECT_EQ(t.machine.dram_gb_per_s, 4);
  EXPECT_TRUE(t.machine.coherent);
  EXPECT_EQ(machine_number(t.machine, "vector.softmax_cycles"), 0);
  EXPECT_EQ(t.cpu.ghz, 3);
  EXPECT_EQ(t.cpu.ns_per_element.at("com.microsoft.FusedConv"), 7);
  EXPECT_FALSE(t.ops.at("com.microsoft.FusedConv").supported);
  const auto limit = std::ranges::find(t.forms.at("mac").limits, "kernel_h", &FactLimit::fact);
  ASSERT_NE(limit, t.forms.at("mac").limits.end());
  EXPECT_EQ(limit->highest, 3);
  EXPECT_EQ(limit->where, "--set forms.mac.kernel_h=[1, 3]");
  // The rest is the file's, and what was set is remembered as it was typed.
  EXPECT_EQ(t.machine.mac_rows, base.machine.mac_rows);
  EXPECT_EQ(t.changes.size(), 9u);
  EXPECT_EQ(t.changes.front().first, "sram.bytes");
  EXPECT_EQ(t.changes.front().second, "1.5MiB");
  // A bundle keeps the numbers, and says whose they are.
  EXPECT_THAT(print(t), HasSubstr("# --set sram.bytes=1.5MiB\n"));
  EXPECT_TRUE(parse_target(print(t), "again.toml").machine == t.machine);
}

TEST(Target, EveryNumberCanBeSet) {
  const Target base = load_target("shore-1");
  for (const MachineField& f : machine_fields()) {
    const double old = machine_number(base.machine, f.key);
    std::string value = str(old == f.lowest ? f.highest : f.lowest);
    double wanted = old == f.lowest ? f.highest : f.lowest;
    if (f.kind == MachineField::Kind::flag) value = wanted != 0 ? "true" : "false";
    if (f.kind == MachineField::Kind::dataflow)
      value = name(Dataflow(static_cast<int>(wanted)));
    else if (f.kind == MachineField::Kind::integer)
      value = std::to_string(static_cast<std::int64_t>(wanted));
    if (f.key == "mac.stripe_min") value = "16", wanted = 16;  // no more than stripe_max
    if (f.key == "mac.stripe_max") value = "64", wanted = 64;
    if (f.key.ends_with("_grain")) value = "8", wanted = 8;  // no more than rows or columns
    EXPECT_EQ(machine_number(with({str(f.key, "=", value)}).machine, f.key), wanted) << f.key;
  }
}

TEST(Target, SaysWhatIsWrongWithASet) {
  const auto set = [](const std::string& text) { return message(std::vector{text}); };
  EXPECT_THAT(set("sram"), HasSubstr("--set sram: expected KEY=VALUE"));
  EXPECT_THAT(set("sram="), HasSubstr("--set sram=: expected KEY=VALUE"));
  EXPECT_THAT(set("srm=1"),
              HasSubstr("--set srm=1: unknown key 'srm'; expected one of: clock.KEY"));
  EXPECT_THAT(set("srm.bytes=1"), HasSubstr("--set srm.bytes=1: unknown key 'srm.bytes'"));
  EXPECT_THAT(set("mac.row=8"),
              HasSubstr("--set mac.row=8: unknown key 'npu.mac.row'; expected one of: rounding, "
                        "mac.dataflow, mac.rows"));
  EXPECT_THAT(
      set("rows=0"),
      HasSubstr("--set rows=0: npu.mac.rows: expected an integer from 1 to 65536, found 0"));
  EXPECT_THAT(set("sram=1000.5"), HasSubstr("expected an integer from 1024"));
  EXPECT_THAT(set("sram.banks=1KiB"), HasSubstr("expected an integer from 1 to 65536"));
  EXPECT_THAT(set("dram=nan"), HasSubstr("npu.dram.gb_per_s: expected a number from 0.001"));
  EXPECT_THAT(set("dataflow=spatial"), HasSubstr("expected \"weight_stationary\""));
  EXPECT_THAT(set("cache.coherent=yes"), HasSubstr("expected true or false, found 'yes'"));
  EXPECT_THAT(set("forms.mac.kernel_h=[1,"), HasSubstr("--set forms.mac.kernel_h=[1,: expected"));
  EXPECT_THAT(set("ops.Convv.supported=false"), HasSubstr("--set ops.Convv.supported=false: ops"));
  EXPECT_THAT(message(std::vector<std::string>{"mac.stripe_min=64", "mac.stripe_max=32"}),
              HasSubstr("--set mac.stripe_min=64: npu.mac.stripe_min: expected at most "
                        "npu.mac.stripe_max (32) of --set mac.stripe_max=32, found 64"));
  EXPECT_THAT(set("sram=1\nname = 2"), HasSubstr("control character"));
  EXPECT_THAT(message(std::vector<std::string>{"sram=1MiB", "npu.sram.bytes=2MiB"}),
              HasSubstr("sram.bytes is set by --set sram=1MiB already"));
  const std::vector<std::string> sram = {"sram=1MiB"};
  EXPECT_THROW(load_target("cpu", sram), Error);  // it has no NPU
}

TEST(Target, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(message("name = 3"), HasSubstr("t.toml:1: name: expected a string, found 3"));
  EXPECT_THAT(message("name = "), HasSubstr("t.toml:1: not TOML"));
  EXPECT_THAT(message("doc = \"x\""), HasSubstr("missing keys 'name', 'cpu.cores'"));
  EXPECT_THAT(message("name = \"x\""), AllOf(HasSubstr("missing keys 'cpu.cores', 'cpu.ghz'"),
                                             HasSubstr("`like = \"NAME\"`")));
  EXPECT_THAT(message(like("nqu = 1")),
              HasSubstr("t.toml:3: unknown key 'nqu'; expected one of: name, doc, like, npu"));
  EXPECT_THAT(message(like("[npu.mac]\nrow = 8")),
              HasSubstr("t.toml:4: unknown key 'npu.mac.row'; expected one of: rounding, "
                        "mac.dataflow, mac.rows"));
  EXPECT_THAT(message(like("[npu.mac]\nrows = 0")),
              HasSubstr("t.toml:4: npu.mac.rows: expected an integer from 1 to 65536, found 0"));
  EXPECT_THAT(message(like("[npu.mac]\nrows = 8.5")),
              HasSubstr("expected an integer from 1 to 65536, found 8.5"));
  EXPECT_THAT(message(like("[npu.dram]\ngb_per_s = nan")),
              HasSubstr("npu.dram.gb_per_s: expected a number from 0.001 to 100000, found nan"));
  EXPECT_THAT(message(like("[npu.mac]\ndataflow = \"spatial\"")),
              HasSubstr("expected \"weight_stationary\""));
  EXPECT_THAT(message(like("[npu.cache]\ncoherent = 1")),
              HasSubstr("expected true or false, found 1"));
  EXPECT_THAT(message(like("[npu]\nrounding = [\"up\"]")),
              HasSubstr("npu.rounding: expected a list of f32_even"));
  EXPECT_THAT(message(like("[npu.mac]\nalignment = 3")),
              HasSubstr("t.toml:4: npu.mac.alignment: expected a power of two from 1 to 4096"));
  EXPECT_THAT(message(like("[npu.dma]\nalignment = 4")),
              HasSubstr("t.toml:4: npu.dma.alignment: expected an integer from 1 to 1, found 4"));
  EXPECT_THAT(message(like("[npu.mac]\nstripe_max = 32\nstripe_min = 64")),
              HasSubstr("t.toml:5: npu.mac.stripe_min: expected at most npu.mac.stripe_max (32)"));
  EXPECT_THAT(message(like("[npu.mac]\nrows = 8\ninput_grain = 16")),
              HasSubstr("t.toml:5: npu.mac.input_grain: expected at most npu.mac.rows (8) of "
                        "t.toml:4, found 16"));
  EXPECT_THAT(message(like("[npu.mac]\noutput_grain = 9")),
              HasSubstr("npu.mac.output_grain: expected at most npu.mac.columns (8)"));
  EXPECT_THAT(message(like("[npu.control]\nsemaphore_limit = 1")),
              HasSubstr("t.toml:4: npu.control.semaphore_limit: expected an integer from 16"));
  EXPECT_THAT(message(like("[npu]\nrounding = []")), HasSubstr("at least one rounding mode"));
  EXPECT_THAT(message(like("[forms.conv]")),
              HasSubstr("unknown key 'forms.conv'; expected one of: depthwise, eltwise, mac"));
  EXPECT_THAT(message(like("[forms.mac]\nkernel_hight = [1, 3]")),
              HasSubstr("t.toml:4: unknown key 'forms.mac.kernel_hight'"));
  EXPECT_THAT(message(like("[forms.mac]\nkernel_h = [3, 1]")),
              HasSubstr("a range whose lowest is not above its highest"));
  EXPECT_THAT(
      message(like("[forms.mac]\nkernel_h = 3")),
      HasSubstr("forms.mac.kernel_h: expected a range [lowest, highest] of integers, found 3"));
  EXPECT_THAT(message(like("[forms.mac]\ndtypes = [\"int8\"]")),
              HasSubstr("element types such as \"i8\""));
  EXPECT_THAT(message(like("[ops.Convv]\nsupported = false")),
              HasSubstr("there is no operator 'Convv'"));
  EXPECT_THAT(message(like("[cpu]\ncores = 0")),
              HasSubstr("cpu.cores: expected an integer from 1 to 1024, found 0"));
  EXPECT_THAT(message(like("[cpu.ns_per_element]\nAdd = -1")),
              HasSubstr("cpu.ns_per_element.Add: expected a number from 0 to 1e+06, found -1"));
  EXPECT_THAT(message(like("[cpu.macs_per_cycle]\nint = 1")),
              HasSubstr("a key that is an element type"));
  EXPECT_THAT(message("name = \"t\"\nlike = \"nowhere\""),
              HasSubstr("t.toml:2: like: expected the name of a target, found 'nowhere'"));
}

TEST(Target, EveryMissingNumberIsNamed) {
  const std::string text = [] {
    const Result<SharedBlob> blob = read_file(load_target("shore-1").file);
    const auto bytes = (*blob)->bytes();
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }();
  for (const MachineField& f : machine_fields()) {
    const std::string key(f.key.substr(f.key.find('.') + 1)),
        section(f.key.substr(0, f.key.find('.')));
    std::string without, current;
    std::size_t dropped = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("[")) current = line.substr(1, line.find(']') - 1);
      if (current == "npu." + section && line.starts_with(key + " "))
        dropped++;
      else
        without += line + "\n";
    }
    if (!f.required) continue;
    ASSERT_EQ(dropped, 1u) << f.key;
    EXPECT_THAT(message(without), HasSubstr(str("missing key 'npu.", f.key, "'"))) << f.key;
  }
}

TEST(Target, AFileThatInheritsItselfIsRefused) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "longshore_target_cycle";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "loop.toml") << "name = \"loop\"\nlike = \"loop\"\n";
  try {
    load_target((folder / "loop.toml").string());
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("found a cycle or more"));
  }
  std::filesystem::remove_all(folder);
}

TEST(Target, AnUnknownNameListsTheKnown) {
  try {
    load_target("rk3599");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::bad_argument);
    EXPECT_THAT(e.what(), HasSubstr("there is no target 'rk3599'; there are: cpu, "));
    EXPECT_THAT(e.what(), HasSubstr(", rk3588-3cores-like, rk3588-like, "));
  }
}

}  // namespace
}  // namespace longshore::tests::target_test
