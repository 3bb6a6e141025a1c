#include "forms/reasons.hpp"

#include "base/error.hpp"

namespace longshore {

void Reasons::range(std::string_view fact, std::int64_t found, std::int64_t lowest,
                    std::int64_t highest, std::string_view who, std::string where) {
  const bool low = found < lowest;
  all_.push_back(
      {str(fact, " is ", found, "; ", who, " ", lowest, " to ", highest),
       std::move(where),
       str(low ? "raise " : "lower ", fact, " from ", found, " to ", low ? lowest : highest),
       {Wanted::Kind::fact, std::string(fact), std::to_string(found),
        std::to_string(low ? lowest : highest)}});
}

void Reasons::value(std::string_view fact, std::string_view found, std::string_view wanted,
                    std::string where) {
  all_.push_back(
      {str(fact, " is ", found, ", not ", wanted),
       std::move(where),
       str("change ", fact, " from ", found, " to ", wanted),
       {Wanted::Kind::property, std::string(fact), std::string(found), std::string(wanted)}});
}

void Reasons::computed(std::string_view role, std::string_view name) {
  all_.push_back({str("its ", role, " '", name, "' is computed at run time"),
                  {},
                  str("make '", name, "' a constant"),
                  {Wanted::Kind::constant, std::string(name), "computed", "constant"}});
}

void Reasons::scales(std::string_view first, std::string_view second) {
  all_.push_back({str("'", first, "' and '", second, "' differ in scale or zero point"),
                  {},
                  str("give '", second, "' the scale of '", first, "'"),
                  {Wanted::Kind::scale, std::string(second), {}, std::string(first)}});
}

void Reasons::lacks(const Unit& unit, std::string_view what, std::string_view key) {
  all_.push_back({str(unit.name, " has no ", what),
                  str(unit.file, ": ", key),
                  str("choose a target that has ", key),
                  {Wanted::Kind::target, std::string(key), {}, {}}});
}

void Reasons::needs(const Unit& unit, const VectorFunction& f) {
  if (unit.machine.cycles_of(f) > 0) return;
  lacks(unit, str(name(f), " in its vector unit"), str("npu.vector.", name(f), "_cycles"));
}

}  // namespace longshore
