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
  EXPECT_EQ(load_target("shore-1").machine.dtypes, types(DType::i8, DType::u8, DType::i32));
  const Target t = parse_target(like("[npu]\ndtypes = [\"i8\", \"i16\"]\n"), "t.toml");
  EXPECT_EQ(t.machine.dtypes, types(DType::i8, DType::i16, DType::i32));
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
    EXPECT_THAT(e.what(), HasSubstr(", rk3588-3cores-like, rk3588-like, shore-1; "));
  }
}

}  // namespace
}  // namespace longshore::tests::target_test
