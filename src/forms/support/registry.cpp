#include <algorithm>

#include "base/error.hpp"
#include "forms/form.hpp"

namespace longshore {

std::span<const FormName> form_names() {
  static const std::vector<FormName> names = [] {
    std::vector<FormName> out;
    for (const forms::FormDef* f : forms::all()) out.push_back({f->name, f->like});
    return out;
  }();
  return names;
}

namespace forms {

const FormDef* find(std::string_view name) {
  for (const FormDef* f : all())
    if (f->name == name) return f;
  return nullptr;
}

std::vector<const FormDef*> forms_of(const FormNode& n) {
  std::vector<const FormDef*> out;
  if (n.spec.form.empty()) return out;
  for (const FormDef* f : all())
    if (f->like == n.spec.form && f->applies(n)) out.push_back(f);
  if (const FormDef* own = find(n.spec.form)) out.push_back(own);
  return out;
}

namespace {
const FormDef& only(bool FormDef::*flag) {
  for (const FormDef* f : all())
    if (f->*flag) return *f;
  fail(Code::internal, "no form rescales or copies");
}
}  // namespace

const FormDef& rescaling() { return only(&FormDef::rescales); }
const FormDef& copying() { return only(&FormDef::copies); }

}  // namespace forms
}  // namespace longshore
