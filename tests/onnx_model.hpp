#pragma once
#include <gtest/gtest.h>
#include <onnx.pb.h>

#include <filesystem>
#include <string>

#include "base/error.hpp"
#include "read/read.hpp"
#include "temporary_folder.hpp"

namespace longshore::tests {

/// Builds ONNX files in memory, in few words.
struct OnnxModel {
  onnx::ModelProto proto;

  explicit OnnxModel(int opset = 19, int ir = 8) {
    proto.set_ir_version(ir);
    import("", opset);
    proto.mutable_graph()->set_name("g");
  }
  void import(const std::string& domain, int version) {
    onnx::OperatorSet* set = proto.add_opset_import();
    set->set_domain(domain);
    set->set_version(version);
  }
  onnx::GraphProto& graph() { return *proto.mutable_graph(); }
  std::string bytes() const { return proto.SerializeAsString(); }
  ReadResult read(const ReadOptions& options = {}, const std::string& folder = {}) const {
    const std::string all = bytes();
    return read_onnx(std::as_bytes(std::span(all)), "test.onnx", folder, options);
  }
  /// The error's text; fails the test if there is none or it is a bug of ours.
  std::string error(const ReadOptions& options = {}, const std::string& folder = {}) const {
    try {
      read(options, folder);
    } catch (const Error& e) {
      EXPECT_NE(e.code(), Code::internal) << e.what();
      return e.what();
    }
    ADD_FAILURE() << "no error";
    return {};
  }
};

inline void declare(onnx::ValueInfo& v, const std::string& name, DType dtype,
                    std::initializer_list<std::int64_t> dims) {
  v.set_name(name);
  auto* t = v.mutable_type()->mutable_tensor_type();
  t->set_elem_type(static_cast<int>(dtype));
  t->mutable_shape();
  for (std::int64_t d : dims) t->mutable_shape()->add_dim()->set_dim_value(d);
}
inline void input(onnx::GraphProto& g, const std::string& name,
                  std::initializer_list<std::int64_t> dims, DType dtype = DType::f32) {
  declare(*g.add_input(), name, dtype, dims);
}
inline void output(onnx::GraphProto& g, const std::string& name) { g.add_output()->set_name(name); }
inline onnx::NodeProto& node(google::protobuf::RepeatedPtrField<onnx::NodeProto>& list,
                             const std::string& op, std::initializer_list<const char*> in,
                             std::initializer_list<const char*> out) {
  onnx::NodeProto& n = *list.Add();
  n.set_op_type(op);
  for (const char* name : in) n.add_input(name);
  for (const char* name : out) n.add_output(name);
  return n;
}
inline onnx::NodeProto& node(onnx::GraphProto& g, const std::string& op,
                             std::initializer_list<const char*> in,
                             std::initializer_list<const char*> out) {
  return node(*g.mutable_node(), op, in, out);
}
inline onnx::AttributeProto& attribute(onnx::NodeProto& n, const std::string& name, int type) {
  onnx::AttributeProto& a = *n.add_attribute();
  a.set_name(name);
  a.set_type(type);
  return a;
}
inline void integer(onnx::NodeProto& n, const std::string& name, std::int64_t value) {
  attribute(n, name, 2).set_i(value);
}
inline onnx::GraphProto& subgraph(onnx::NodeProto& n, const std::string& name) {
  return *attribute(n, name, 5).mutable_g();
}
inline onnx::TensorProto floats(const std::string& name, std::initializer_list<std::int64_t> dims,
                                std::initializer_list<float> values) {
  onnx::TensorProto t;
  t.set_name(name);
  t.set_data_type(1);
  for (std::int64_t d : dims) t.add_dims(d);
  for (float v : values) t.add_float_data(v);
  return t;
}

}  // namespace longshore::tests
