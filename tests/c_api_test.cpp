// The C interface, as a C program would use it.
#include "../include/longshore/longshore.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

struct File {
  std::string path;
  explicit File(const char* text) {
    path = (std::filesystem::temp_directory_path() / "longshore_XXXXXX").string();
    const int handle = mkstemp(path.data());
    EXPECT_GE(handle, 0);
    if (handle >= 0) close(handle);
    std::ofstream(path) << text;
  }
  ~File() { std::filesystem::remove(path); }
};

TEST(CApi, LoadsAndRunsAModel) {
  const File file("(x: f32[N,2]) { y = Relu(x) return y }");
  longshore_model* model = nullptr;
  char why[256] = "?";
  ASSERT_EQ(longshore_model_load(file.path.c_str(), &model, why, sizeof why), LONGSHORE_OK) << why;
  EXPECT_STREQ(why, "");
  ASSERT_EQ(longshore_input_count(model), 1u);
  ASSERT_EQ(longshore_output_count(model), 1u);
  EXPECT_STREQ(longshore_input_name(model, 0), "x");
  EXPECT_STREQ(longshore_output_name(model, 0), "y");
  EXPECT_EQ(longshore_input_name(model, 1), nullptr);
  longshore_tensor type;
  ASSERT_EQ(longshore_input_type(model, 0, &type), LONGSHORE_OK);
  EXPECT_EQ(type.dtype, LONGSHORE_F32);
  EXPECT_EQ(type.rank, 2);
  EXPECT_EQ(type.dims[0], -1);
  EXPECT_EQ(type.dims[1], 2);

  longshore_context* context = nullptr;
  ASSERT_EQ(longshore_context_create(model, 1, &context, why, sizeof why), LONGSHORE_OK) << why;
  longshore_model_free(model);  // the context keeps what it needs
  longshore_tensor y;
  EXPECT_EQ(longshore_output(context, 0, &y), LONGSHORE_BAD_ARGUMENT);
  const float data[6] = {1, -2, 3, -4, 5, -6};
  for (std::int64_t rows : {3, 1, 3}) {
    const longshore_tensor x = {LONGSHORE_F32, 2, {rows, 2}, data};
    ASSERT_EQ(longshore_run(context, &x, 1, why, sizeof why), LONGSHORE_OK) << why;
    ASSERT_EQ(longshore_output(context, 0, &y), LONGSHORE_OK);
    EXPECT_EQ(y.dims[0], rows);
    EXPECT_EQ(static_cast<const float*>(y.data)[0], 1);
    EXPECT_EQ(static_cast<const float*>(y.data)[1], 0);
  }
  const longshore_tensor wrong = {LONGSHORE_I32, 2, {3, 2}, data};
  EXPECT_EQ(longshore_run(context, &wrong, 1, why, sizeof why), LONGSHORE_BAD_ARGUMENT);
  EXPECT_STREQ(why, "input 'x' is f32, found i32");
  const longshore_tensor ragged = {LONGSHORE_F32, 9, {1}, data};
  EXPECT_EQ(longshore_run(context, &ragged, 1, nullptr, 0), LONGSHORE_BAD_ARGUMENT);
  longshore_context_free(context);
}

TEST(CApi, KeepsStatesUntilReset) {
  const File file(
      "(x: f32[N,2], s: f32[2]) states (s = t) { r = ReduceSum(x, i64[1]{0}, keepdims=0) "
      "t = Add(r, s) return t }");
  longshore_model* model = nullptr;
  char why[256] = "?";
  ASSERT_EQ(longshore_model_load(file.path.c_str(), &model, why, sizeof why), LONGSHORE_OK) << why;
  longshore_context* context = nullptr;
  ASSERT_EQ(longshore_context_create(model, 0, &context, why, sizeof why), LONGSHORE_OK) << why;
  longshore_model_free(model);
  const float data[4] = {1, 2, 3, 4};
  longshore_tensor t;
  float want = 0;
  for (std::int64_t rows : {1, 2, 1}) {
    const longshore_tensor inputs[] = {{LONGSHORE_F32, 2, {rows, 2}, data}, {}};
    ASSERT_EQ(longshore_run(context, inputs, 2, why, sizeof why), LONGSHORE_OK) << why;
    ASSERT_EQ(longshore_output(context, 0, &t), LONGSHORE_OK);
    want += rows == 1 ? 1.0f : 4.0f;
    EXPECT_EQ(static_cast<const float*>(t.data)[0], want);
  }
  longshore_reset(context);
  const longshore_tensor inputs[] = {{LONGSHORE_F32, 2, {1, 2}, data}, {}};
  ASSERT_EQ(longshore_run(context, inputs, 2, why, sizeof why), LONGSHORE_OK) << why;
  ASSERT_EQ(longshore_output(context, 0, &t), LONGSHORE_OK);
  EXPECT_EQ(static_cast<const float*>(t.data)[0], 1);
  const longshore_tensor missing[] = {{}, {}};
  EXPECT_EQ(longshore_run(context, missing, 2, why, sizeof why), LONGSHORE_BAD_ARGUMENT);
  EXPECT_STREQ(why, "input 'x' is missing");
  longshore_context_free(context);
}

TEST(CApi, SaysWhyAFileIsRefused) {
  char why[256];
  longshore_model* model = nullptr;
  EXPECT_EQ(longshore_model_load("/nowhere/model.onnx", &model, why, sizeof why), LONGSHORE_IO);
  EXPECT_NE(std::string(why).find("/nowhere/model.onnx"), std::string::npos) << why;
  EXPECT_EQ(model, nullptr);
  const File file("(x: f32[2]) { y = Reul(x) return y }");
  EXPECT_EQ(longshore_model_load(file.path.c_str(), &model, why, sizeof why),
            LONGSHORE_UNSUPPORTED);
  EXPECT_EQ(longshore_model_load(nullptr, &model, why, sizeof why), LONGSHORE_BAD_ARGUMENT);
  char tiny[4] = "abc";
  EXPECT_NE(longshore_model_load("/nowhere", &model, tiny, sizeof tiny), LONGSHORE_OK);
  EXPECT_EQ(tiny[3], 0);
}

TEST(CApi, TellsItsVersion) { EXPECT_GT(std::string(longshore_version()).find('.'), 0u); }

}  // namespace
