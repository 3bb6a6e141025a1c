// The command `test-onnx` itself: what it counts, and that a case cannot take it down.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "ir/op.hpp"
#include "onnx_model.hpp"

namespace longshore::tests::test_onnx_test {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;

struct TestOnnx : testing::Test {
  TemporaryFolder folder;
  fs::path tool = fs::read_symlink("/proc/self/exe").parent_path() / "longshore";

  void SetUp() override {
    if (!fs::exists(tool)) GTEST_SKIP() << "the tool is not built";
  }
  void write(const fs::path& file, const std::string& text) {
    fs::create_directories((folder.path() / file).parent_path());
    std::ofstream(folder.path() / file, std::ios::binary) << text;
  }
  /// y = Relu(x) with one data set.
  void relu(const std::string& name, std::initializer_list<float> in,
            std::initializer_list<float> out, const std::string& settings = {}) {
    OnnxModel m;
    input(m.graph(), "x", {static_cast<std::int64_t>(in.size())});
    node(m.graph(), "Relu", {"x"}, {"y"});
    output(m.graph(), "y");
    write(name + "/model.onnx", m.bytes());
    const std::int64_t n = static_cast<std::int64_t>(in.size());
    write(name + "/test_data_set_0/input_0.pb", floats("", {n}, in).SerializeAsString());
    write(name + "/test_data_set_0/output_0.pb", floats("", {n}, out).SerializeAsString());
    if (!settings.empty()) write(name + "/case.json", settings);
  }
  /// Standard output, and the exit code.
  std::pair<std::string, int> run(const std::string& arguments) {
    const std::string command =
        "'" + tool.string() + "' test-onnx '" + folder.path().string() + "' " + arguments + " 2>&1";
    std::FILE* pipe = ::popen(command.c_str(), "r");
    std::string out;
    char buffer[4096];
    for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
      out.append(buffer, n);
    const int status = ::pclose(pipe);
    return {out, WEXITSTATUS(status)};
  }
};

TEST_F(TestOnnx, CountsAndNames) {
  relu("good", {-1, 2}, {0, 2});
  relu("bad", {-1, 2}, {0, 3});
  relu("near", {1, 2}, {1.0005f, 2});
  relu("left-out", {-1}, {7});
  const auto [out, code] = run("--skip left-out");
  EXPECT_EQ(code, 1);
  EXPECT_THAT(out, HasSubstr("failed  bad: data set 0, output 'y': 1 of 2 elements differ, the "
                             "first at [1]: got 2, want 3"));
  EXPECT_THAT(out, EndsWith("2 passed, 1 failed, 1 skipped\n"));
  EXPECT_EQ(run("--skip left-out --skip bad").second, 0);
}

TEST_F(TestOnnx, HonoursCaseJson) {
  relu("loose", {1}, {1.5}, R"({"kind": "values", "rtol": 0, "atol": 0.6})");
  relu("tight", {1}, {1.0005f}, R"({"kind": "values", "rtol": 0, "atol": 0})");
  relu("both", {-1}, {0}, R"({"kind": "same-as-unoptimised"})");
  relu("runs-but-must-not", {1}, {1}, R"({"kind": "reject"})");
  relu("anything", {1}, {2}, R"({"kind": "no-crash"})");
  write("cut/model.onnx", "\x08\x08\x3a\x7f");
  write("cut/case.json", R"({"kind": "reject"})");
  OnnxModel unknown;
  input(unknown.graph(), "x", {1});
  node(unknown.graph(), "Bogus", {"x"}, {"y"});
  output(unknown.graph(), "y");
  write("refused/model.onnx", unknown.bytes());
  write("refused-well/model.onnx", unknown.bytes());
  write("refused-well/case.json", R"({"kind": "values", "refusal_ok": true})");
  const auto [out, code] = run("-v");
  EXPECT_EQ(code, 1);
  for (const char* name : {"loose", "both", "anything", "cut", "refused-well"})
    EXPECT_THAT(out, HasSubstr(std::string("passed  ") + name));
  for (const char* name : {"tight", "runs-but-must-not", "refused"})
    EXPECT_THAT(out, HasSubstr(std::string("failed  ") + name));
  EXPECT_THAT(out, EndsWith("5 passed, 3 failed, 0 skipped\n"));
}

TEST_F(TestOnnx, AnEndlessCaseAndAGreedyOneAreOneFailureEach) {
  OnnxModel m;
  node(*m.graph().mutable_node(), "Loop", {"", "go", "x"}, {"y"});
  onnx::GraphProto& body = subgraph(*m.graph().mutable_node(0), "body");
  input(body, "i", {}, DType::i64);
  input(body, "again", {}, DType::boolean);
  input(body, "state", {1});
  node(body, "Relu", {"state"}, {"next"});
  node(body, "Identity", {"again"}, {"on"});
  output(body, "on");
  output(body, "next");
  input(m.graph(), "x", {1});
  onnx::TensorProto& go = *m.graph().add_initializer();
  go.set_name("go");
  go.set_data_type(9);
  go.add_int32_data(1);
  output(m.graph(), "y");
  write("endless/model.onnx", m.bytes());
  write("endless/test_data_set_0/input_0.pb", floats("", {1}, {1}).SerializeAsString());
  OnnxModel greedy;
  input(greedy.graph(), "x", {2}, DType::i64);
  node(greedy.graph(), "ConstantOfShape", {"x"}, {"y"});
  output(greedy.graph(), "y");
  write("greedy/model.onnx", greedy.bytes());
  onnx::TensorProto dims;
  dims.set_data_type(7);
  dims.add_dims(2);
  for (const std::int64_t d : {1 << 20, 1000}) dims.add_int64_data(d);
  write("greedy/test_data_set_0/input_0.pb", dims.SerializeAsString());
  relu("good", {-1, 2}, {0, 2});
  const auto [out, code] = run("--seconds 1 --memory 512");
  EXPECT_THAT(out, HasSubstr("failed  endless: it took more than 1 s"));
  EXPECT_THAT(out, HasSubstr("failed  greedy: "));
  EXPECT_THAT(out, EndsWith("1 passed, 2 failed, 0 skipped\n"));
  EXPECT_EQ(code, 1);
}

TEST_F(TestOnnx, JsonStandsBeforeTheLastLine) {
  relu("good", {-1}, {0});
  const auto [out, code] = run("--json");
  EXPECT_EQ(code, 0);
  EXPECT_THAT(out, testing::StartsWith(R"({"cases":[{"ms":)"));
  EXPECT_THAT(out, EndsWith("1 passed, 0 failed, 0 skipped\n"));
}

TEST_F(TestOnnx, NothingToTestIsAnError) {
  const auto [out, code] = run("");
  EXPECT_EQ(code, 2);
  EXPECT_THAT(out, HasSubstr("holds no model.onnx"));
}

}  // namespace
}  // namespace longshore::tests::test_onnx_test
