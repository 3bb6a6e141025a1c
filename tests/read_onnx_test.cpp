#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/op.hpp"
#include "onnx_model.hpp"
#include "tensor/visit.hpp"

namespace longshore::tests::read_onnx_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> run(const ReadResult& r, std::initializer_list<std::vector<float>> inputs) {
  std::vector<Tensor> in;
  for (const auto& x : inputs)
    in.push_back(make_floats(Shape{static_cast<std::int64_t>(x.size())}, x));
  verify(r.graph);
  EXPECT_TRUE(parse(print(r.graph)) == r.graph) << print(r.graph);
  const Tensor out = evaluate(r.graph, in).at(0);
  const auto values = out.values<float>();
  return {values.begin(), values.end()};
}

/// y = Relu(x + w)
OnnxModel small() {
  OnnxModel m;
  input(m.graph(), "x", {3});
  *m.graph().add_initializer() = floats("w", {3}, {1, -2, 3});
  node(m.graph(), "Add", {"x", "w"}, {"t"}).set_name("adds");
  node(m.graph(), "Relu", {"t"}, {"y"});
  output(m.graph(), "y");
  return m;
}

TEST(ReadOnnx, KeepsNamesAndOrigins) {
  const ReadResult r = small().read();
  EXPECT_THAT(run(r, {{1, 1, 1}}), ElementsAre(2, 0, 4));
  EXPECT_EQ(r.opset, 19);
  EXPECT_TRUE(r.warnings.empty());
  EXPECT_EQ(r.graph[r.graph.inputs[0]].name, "x");
  EXPECT_EQ(r.graph[r.graph.outputs[0]].name, "y");
  EXPECT_EQ(r.graph.nodes[0].origin, (Origin{"adds", "", 19}));
  EXPECT_EQ(r.graph.nodes[1].origin.name, "y");
}

TEST(ReadOnnx, AnInitialiserThatIsAnInputIsADefault) {
  OnnxModel m = small();
  input(m.graph(), "w", {3});
  EXPECT_THAT(run(m.read(), {{1, 1, 1}}), ElementsAre(2, 0, 4));
  EXPECT_EQ(m.read().defaults.at("w").elements(), 3);
  ReadOptions keep;
  keep.keep_inputs = {"w"};
  EXPECT_THAT(run(m.read(keep), {{1, 1, 1}, {5, 5, 5}}), ElementsAre(6, 6, 6));
  ReadOptions first_two;
  first_two.keep_first_inputs = 2;
  EXPECT_EQ(m.read(first_two).graph.inputs.size(), 2u);
  m.proto.set_ir_version(3);  // there it is a constant, whatever the caller wishes
  EXPECT_EQ(m.read(keep).graph.inputs.size(), 1u);
}

TEST(ReadOnnx, SortsNodesAndSaysSo) {
  OnnxModel m = small();
  m.graph().mutable_node()->SwapElements(0, 1);
  const ReadResult r = m.read();
  EXPECT_THAT(run(r, {{1, 1, 1}}), ElementsAre(2, 0, 4));
  EXPECT_THAT(r.warnings, ElementsAre(HasSubstr("nodes were sorted; node 'y' (Relu)")));
}

TEST(ReadOnnx, ACycleNamesTwoNodes) {
  OnnxModel m = small();
  m.graph().mutable_node(0)->set_input(0, "y");
  EXPECT_THAT(m.error(),
              testing::AllOf(HasSubstr("cycle"), HasSubstr("'adds'"), HasSubstr("'y' (Relu)")));
}

TEST(ReadOnnx, ConstantNodesOfEveryKind) {
  OnnxModel m;
  input(m.graph(), "x", {2});
  const auto constant = [&](const char* name, const char* attribute_name,
                            int type) -> onnx::AttributeProto& {
    return attribute(node(m.graph(), "Constant", {}, {name}), attribute_name, type);
  };
  *constant("a", "value", 4).mutable_t() = floats("", {2}, {1, 2});
  constant("b", "value_float", 1).set_f(10);
  onnx::AttributeProto& list = constant("c", "value_floats", 6);
  list.add_floats(100);
  list.add_floats(200);
  onnx::SparseTensor& sparse = *constant("d", "sparse_value", 11).mutable_sparse_tensor();
  *sparse.mutable_values() = floats("", {1}, {1000});
  sparse.mutable_indices()->set_data_type(7);
  sparse.mutable_indices()->add_dims(1);
  sparse.mutable_indices()->add_int64_data(1);
  sparse.add_dims(2);
  constant("i", "value_int", 2).set_i(7);
  constant("j", "value_ints", 7).add_ints(8);
  node(m.graph(), "Add", {"x", "a"}, {"s1"});
  node(m.graph(), "Add", {"s1", "b"}, {"s2"});
  node(m.graph(), "Add", {"s2", "c"}, {"s3"});
  node(m.graph(), "Add", {"s3", "d"}, {"y"});
  node(m.graph(), "Add", {"i", "j"}, {"k"});
  output(m.graph(), "y");
  output(m.graph(), "k");
  const ReadResult r = m.read();
  EXPECT_THAT(run(r, {{0, 0}}), ElementsAre(111, 1212));
  EXPECT_EQ(evaluate(r.graph, std::vector{make_floats(Shape{2}, std::vector<float>{0, 0})})[1],
            make_ints(std::vector<std::int64_t>{15}));
}

TEST(ReadOnnx, SparseInitialiserIsMadeDense) {
  OnnxModel m = small();
  m.graph().clear_initializer();
  onnx::SparseTensor& s = *m.graph().add_sparse_initializer();
  *s.mutable_values() = floats("w", {2}, {5, 6});
  s.mutable_indices()->set_data_type(7);
  s.mutable_indices()->add_dims(2);
  s.mutable_indices()->add_dims(1);
  s.mutable_indices()->add_int64_data(0);
  s.mutable_indices()->add_int64_data(2);
  s.add_dims(3);
  EXPECT_THAT(run(m.read(), {{1, 1, 1}}), ElementsAre(6, 1, 7));
  s.mutable_indices()->set_int64_data(1, 3);
  EXPECT_THAT(m.error(), HasSubstr("index 3 of 3"));
  s.set_dims(0, std::int64_t{1} << 40);
  EXPECT_THAT(m.error(), HasSubstr("elements"));
}

/// f(a, b) <start = 0> { t = a + b; s = Shape<start = @start>(t); r = Relu(t) } => (r, s)
void add_function(OnnxModel& m) {
  m.import("mine", 1);
  onnx::FunctionProto& f = *m.proto.add_functions();
  f.set_name("f");
  f.set_domain("mine");
  onnx::OperatorSet* set = f.add_opset_import();
  set->set_version(19);
  for (const char* name : {"a", "b"}) f.add_input(name);
  for (const char* name : {"r", "s"}) f.add_output(name);
  onnx::AttributeProto& start = *f.add_attribute_proto();
  start.set_name("start");
  start.set_type(2);
  start.set_i(0);
  f.add_attribute("end");
  node(*f.mutable_node(), "Add", {"a", "b"}, {"t"});
  onnx::NodeProto& shape = node(*f.mutable_node(), "Shape", {"t"}, {"s"});
  for (const char* name : {"start", "end"}) attribute(shape, name, 2).set_ref_attr_name(name);
  node(*f.mutable_node(), "Relu", {"t"}, {"r"});
}

TEST(ReadOnnx, FunctionsAreInlined) {
  OnnxModel m;
  add_function(m);
  input(m.graph(), "x", {2, 3, 4});
  onnx::NodeProto& first = node(m.graph(), "f", {"x", "x"}, {"p", "q"});
  onnx::NodeProto& second =
      node(m.graph(), "f", {"p", "x"}, {"r", "t"});  // t: a name that f uses inside
  for (onnx::NodeProto* n : {&first, &second}) n->set_domain("mine");
  first.set_name("one");
  integer(second, "start", 1);
  integer(second, "end", 2);
  for (const char* name : {"q", "r", "t"}) output(m.graph(), name);
  const ReadResult r = m.read();
  verify(r.graph);
  std::vector<float> x(24, 1);
  const std::vector<Tensor> out = evaluate(r.graph, std::vector{make_floats(Shape{2, 3, 4}, x)});
  EXPECT_EQ(out[0], make_ints(std::vector<std::int64_t>{2, 3, 4}));
  EXPECT_EQ(out[1], make_floats(Shape{2, 3, 4}, std::vector<float>(24, 3)));
  EXPECT_EQ(out[2], make_ints(std::vector<std::int64_t>{3}));
  EXPECT_EQ(r.graph[r.graph.outputs[2]].name, "t");
  EXPECT_EQ(r.graph.nodes[0].origin.name, "one/t");
}

TEST(ReadOnnx, AFunctionThatGivesItsInputIsAnAlias) {
  OnnxModel m = small();
  m.import("mine", 1);
  onnx::FunctionProto& f = *m.proto.add_functions();
  f.set_name("same");
  f.set_domain("mine");
  f.add_input("a");
  f.add_output("a");
  m.graph().mutable_node(1)->set_op_type("same");
  m.graph().mutable_node(1)->set_domain("mine");
  EXPECT_THAT(run(m.read(), {{1, 1, 1}}), ElementsAre(2, -1, 4));
}

TEST(ReadOnnx, RecursionOfFunctionsEnds) {
  OnnxModel m;
  add_function(m);
  onnx::NodeProto& n = node(*m.proto.mutable_functions(0)->mutable_node(), "f", {"a", "b"}, {"u"});
  n.set_domain("mine");
  input(m.graph(), "x", {1});
  node(m.graph(), "f", {"x", "x"}, {"y"}).set_domain("mine");
  output(m.graph(), "y");
  EXPECT_THAT(m.error(), HasSubstr("nested more than 32"));
}

/// Each function calls the one before twice: 2^30 nodes from 30 short functions.
TEST(ReadOnnx, FunctionsCannotGrowWithoutBound) {
  OnnxModel m;
  m.import("mine", 1);
  for (int i = 0; i < 30; i++) {
    onnx::FunctionProto& f = *m.proto.add_functions();
    f.set_name("f" + std::to_string(i));
    f.set_domain("mine");
    f.add_opset_import()->set_version(19);
    f.add_input("a");
    f.add_output("c");
    const std::string inner = i == 0 ? "Relu" : "f" + std::to_string(i - 1);
    onnx::NodeProto* calls[] = {&node(*f.mutable_node(), inner, {"a"}, {"b"}),
                                &node(*f.mutable_node(), inner, {"b"}, {"c"})};
    for (onnx::NodeProto* n : calls)
      if (i > 0) n->set_domain("mine");
  }
  input(m.graph(), "x", {1});
  node(m.graph(), "f29", {"x"}, {"y"}).set_domain("mine");
  output(m.graph(), "y");
  ReadOptions options;
  options.limits.nodes = 10000;
  EXPECT_THAT(m.error(options), HasSubstr("more than 10000 nodes"));
}

TEST(ReadOnnx, CapturesThroughTwoLevels) {
  OnnxModel m;
  input(m.graph(), "c", {}, DType::boolean);
  input(m.graph(), "x", {3});
  *m.graph().add_initializer() = floats("w", {3}, {1, -2, 3});
  node(m.graph(), "Relu", {"x"}, {"r"});
  onnx::NodeProto& outer = node(m.graph(), "If", {"c"}, {"y"});
  onnx::GraphProto& yes = subgraph(outer, "then_branch");
  onnx::NodeProto& inner = node(yes, "If", {"c"}, {"y"});  // the same name as outside
  onnx::GraphProto& deep = subgraph(inner, "then_branch");
  node(deep, "Add", {"r", "w"}, {"s"});
  output(deep, "s");
  output(subgraph(inner, "else_branch"), "w");
  output(yes, "y");
  output(subgraph(outer, "else_branch"), "r");
  output(m.graph(), "y");
  const ReadResult r = m.read();
  verify(r.graph);
  EXPECT_TRUE(parse(print(r.graph)) == r.graph) << print(r.graph);
  for (const bool c : {true, false}) {
    const Bool8 flag(c);
    const std::vector<Tensor> out = evaluate(
        r.graph, std::vector{make_tensor<Bool8>(DType::boolean, Shape{}, std::span(&flag, 1)),
                             make_floats(Shape{3}, std::vector<float>{-1, 2, 3})});
    EXPECT_EQ(out[0],
              make_floats(Shape{3}, c ? std::vector<float>{1, 0, 6} : std::vector<float>{0, 2, 3}));
  }
}

TEST(ReadOnnx, NamesEveryUnsupportedOperatorAtOnce) {
  OnnxModel m = small();
  node(m.graph(), "Bogus", {"y"}, {"z"}).set_name("first");
  node(m.graph(), "Bogus", {"z"}, {"z2"}).set_name("second");
  node(m.graph(), "Odd", {"z"}, {"z3"}).set_domain("com.example");
  EXPECT_EQ(m.error(),
            "test.onnx: 2 operators are not supported: ai.onnx.Bogus (2 nodes, first: node 'first' "
            "(Bogus)); "
            "com.example.Odd (1 node: node 'z3' (com.example.Odd))");
  m.graph().mutable_node(4)->set_domain("com.microsoft.nchwc");
  EXPECT_THAT(m.error(), HasSubstr("ONNX Runtime had optimised"));
}

TEST(ReadOnnx, Versions) {
  OnnxModel old = small();
  old.proto.mutable_opset_import(0)->set_version(5);
  EXPECT_THAT(old.error(), HasSubstr("opset 5"));
  OnnxModel next = small();
  next.proto.mutable_opset_import(0)->set_version(28);
  next.proto.set_ir_version(14);
  EXPECT_THAT(next.read().warnings,
              ElementsAre(HasSubstr("IR version is 14"), HasSubstr("opset is 28")));
  OnnxModel spelt = small();
  spelt.proto.mutable_opset_import(0)->set_domain("ai.onnx");
  spelt.graph().mutable_node(0)->set_domain("ai.onnx");
  spelt.import("com.microsoft", 1);  // imported, not used
  EXPECT_THAT(run(spelt.read(), {{1, 1, 1}}), ElementsAre(2, 0, 4));
  OnnxModel none = small();
  none.proto.clear_opset_import();
  EXPECT_THAT(none.error(), HasSubstr("which opset"));
  OnnxModel ancient = small();
  ancient.proto.set_ir_version(2);
  EXPECT_THAT(ancient.error(), HasSubstr("IR version is 2"));
}

TEST(ReadOnnx, DimsAreNumbersSymbolsOrUnknown) {
  OnnxModel m;
  auto* t = m.graph().add_input();
  t->set_name("x");
  auto* tensor = t->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(1);
  tensor->mutable_shape()->add_dim()->set_dim_param("batch");
  tensor->mutable_shape()->add_dim()->set_dim_value(3);
  tensor->mutable_shape()->add_dim();
  tensor->mutable_shape()->add_dim()->set_dim_value(-1);
  node(m.graph(), "Relu", {"x"}, {"y"});
  output(m.graph(), "y");
  const ReadResult r = m.read();
  EXPECT_EQ(print(r.graph[r.graph.inputs[0]].type), "f32[batch, 3, ?, ?]");
  tensor->clear_shape();
  EXPECT_EQ(print(m.read().graph.values[0].type), "f32[*]");
}

TEST(ReadOnnx, SaysWhichNodeFixesTheBatch) {
  OnnxModel m;
  input(m.graph(), "x", {1, 4});
  m.graph()
      .mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("batch");
  onnx::TensorProto& shape = *m.graph().add_initializer();
  shape.set_name("shape");
  shape.set_data_type(7);
  shape.add_dims(2);
  shape.add_int64_data(3);
  shape.add_int64_data(-1);
  node(m.graph(), "Reshape", {"x", "shape"}, {"y"}).set_name("to_heads");
  *m.graph().add_initializer() = floats("token", {8, 1}, {1, 2, 3, 4, 5, 6, 7, 8});
  integer(node(m.graph(), "Concat", {"token", "x"}, {"z"}), "axis", 1);
  node(m.graph(), "Relu", {"x"}, {"fine"});
  for (const char* name : {"y", "z", "fine"}) output(m.graph(), name);
  EXPECT_THAT(m.read().warnings, ElementsAre("node 'to_heads' (Reshape) fixes the batch: 'x' is "
                                             "f32[batch, 4], but the node wants 3 at the "
                                             "front; other batches will fail",
                                             HasSubstr("node 'z' (Concat) fixes the batch")));
  m.graph().mutable_initializer(0)->set_int64_data(0, 0);
  EXPECT_EQ(m.read().warnings.size(), 1u);
}

TEST(ReadOnnx, WhatIsNoTensorIsRefusedByKind) {
  OnnxModel m = small();
  m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(8);
  EXPECT_THAT(m.error(), HasSubstr("input 'x': it holds strings"));
  m.graph().mutable_input(0)->mutable_type()->mutable_sequence_type();
  EXPECT_THAT(m.error(), HasSubstr("input 'x': it is a sequence"));
  m.graph().mutable_input(0)->mutable_type()->mutable_optional_type();
  EXPECT_THAT(m.error(), HasSubstr("input 'x': it is an optional"));
  m.graph().mutable_input(0)->clear_type();
  EXPECT_THAT(m.error(), HasSubstr("input 'x': it has no type"));
}

TEST(ReadOnnx, MistakesAreNamed) {
  const auto error = [](const std::function<void(OnnxModel&)>& damage) {
    OnnxModel m = small();
    damage(m);
    return m.error();
  };
  EXPECT_THAT(error([](OnnxModel& m) { m.graph().mutable_node(1)->set_input(0, "nowhere"); }),
              HasSubstr("node 'y' (Relu): no value is named 'nowhere'"));
  EXPECT_THAT(error([](OnnxModel& m) { m.graph().mutable_output(0)->set_name("nowhere"); }),
              HasSubstr("output 'nowhere' is not computed"));
  EXPECT_THAT(error([](OnnxModel& m) { m.graph().mutable_node(1)->set_output(0, "t"); }),
              HasSubstr("computed twice"));
  EXPECT_THAT(error([](OnnxModel& m) { node(m.graph(), "Relu", {"x"}, {"w"}); }),
              HasSubstr("another source"));
  EXPECT_THAT(error([](OnnxModel& m) { integer(*m.graph().mutable_node(1), "slope", 1); }),
              HasSubstr("'slope' is not known"));
  EXPECT_THAT(error([](OnnxModel& m) { m.graph().mutable_node(1)->clear_input(); }),
              HasSubstr("(Relu): it takes 1 inputs"));
  EXPECT_THAT(error([](OnnxModel& m) { m.graph().mutable_initializer(0)->add_float_data(1); }),
              HasSubstr("initialiser 'w': it has 4 entries in float_data, 3 expected"));
  EXPECT_THAT(error([](OnnxModel& m) { m.graph().mutable_initializer(0)->set_dims(0, -3); }),
              HasSubstr("a dimension is -3"));
  EXPECT_THAT(error([](OnnxModel& m) {
                m.graph().mutable_initializer(0)->set_dims(0, std::int64_t{1} << 62);
              }),
              HasSubstr("initialiser 'w': it has more than"));
  EXPECT_THAT(error([](OnnxModel& m) { m.graph().mutable_initializer(0)->set_data_type(9999); }),
              HasSubstr("element type is 9999"));
  EXPECT_THAT(error([](OnnxModel& m) { m.graph().clear_output(); }), HasSubstr("no outputs"));
  EXPECT_THAT(error([](OnnxModel& m) { m.proto.clear_graph(); }), HasSubstr("no graph"));
}

TEST(ReadOnnx, DepthIsLimited) {
  OnnxModel m;
  input(m.graph(), "c", {}, DType::boolean);
  input(m.graph(), "x", {1});
  onnx::GraphProto* g = &m.graph();
  for (int i = 0; i < 12; i++) {
    onnx::NodeProto& n = node(*g, "If", {"c"}, {"y"});
    output(subgraph(n, "else_branch"), "x");
    output(*g, "y");
    g = &subgraph(n, "then_branch");
  }
  output(*g, "x");
  EXPECT_NO_THROW(m.read());
  ReadOptions options;
  options.limits.depth = 10;
  EXPECT_THAT(m.error(options), HasSubstr("nested more than 10"));
}

// A damaged file is an error or a model, never a crash and never called a bug of ours.
TEST(ReadOnnx, SurvivesCutsAndFlippedBits) {
  OnnxModel m = small();
  add_function(m);
  node(m.graph(), "f", {"x", "w"}, {"p"}).set_domain("mine");
  input(m.graph(), "c", {}, DType::boolean);
  onnx::NodeProto& branch = node(m.graph(), "If", {"c"}, {"z"});
  node(subgraph(branch, "then_branch"), "Relu", {"t"}, {"a"});
  output(*branch.mutable_attribute(0)->mutable_g(), "a");
  output(subgraph(branch, "else_branch"), "w");
  output(m.graph(), "z");
  *attribute(node(m.graph(), "Constant", {}, {"k"}), "value", 4).mutable_t() =
      floats("", {2}, {1, 2});
  const std::string whole = m.bytes();
  int models = 0, errors = 0;
  const auto attempt = [&](const std::string& bytes, const std::string& what) {
    try {
      const ReadResult r = read_onnx(std::as_bytes(std::span(bytes)), "test.onnx", "");
      verify(r.graph);
      models++;
    } catch (const Error& e) {
      EXPECT_NE(e.code(), Code::internal) << what << ": " << e.what();
      errors++;
    }
  };
  for (std::size_t cut = 0; cut < whole.size(); cut++)
    attempt(whole.substr(0, cut), "cut at " + std::to_string(cut));
  EXPECT_EQ(models, 0);
  for (std::size_t bit = 0; bit < whole.size() * 8; bit++) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    attempt(flipped, "flipped bit " + std::to_string(bit));
  }
  EXPECT_GT(models, 0);
  EXPECT_GT(errors, models);
}

}  // namespace
}  // namespace longshore::tests::read_onnx_test
