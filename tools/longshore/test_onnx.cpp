#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iostream>
#include <memory>
#include <set>
#include <thread>

#include "base/error.hpp"
#include "base/sanitizer.hpp"
#include "command.hpp"
#include "json.hpp"
#include "onnx_case.hpp"
#include "say.hpp"

namespace longshore::commands {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::vector<std::string> folders, skip;
  std::string on = "reference";
  unsigned jobs = 1;
  unsigned seconds = 60, memory_mib = 4096;
  bool json = false, verbose = false, optimised = false;
};

struct Limits {
  unsigned seconds;
  std::size_t memory_bytes;
};

Limits limits_for(const OnnxCase& c, const Options& o) {
  const bool hostile = c.kind == OnnxCase::Kind::reject || c.kind == OnnxCase::Kind::no_crash;
  return {hostile ? std::min(o.seconds, 10u) : o.seconds,
          std::size_t{hostile ? std::min(o.memory_mib, 1024u) : o.memory_mib} << 20};
}

void limit(int what, rlim_t value) {
  const rlimit both{value, value};
  ::setrlimit(what, &both);
}

/// A case that runs in a child process; its verdict comes through a pipe.
struct Child {
  std::size_t which = 0;
  pid_t pid = -1;
  int pipe = -1;
  Limits limits{};
  Clock::time_point start;
  std::string text;
};

Child start(std::size_t which, const OnnxCase& c, const Options& o) {
  Child child;
  child.which = which;
  child.limits = limits_for(c, o);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail(Code::io, "cannot make a pipe: ", std::strerror(errno));
  std::cout.flush();
  child.start = Clock::now();
  child.pid = ::fork();
  if (child.pid < 0) fail(Code::io, "cannot start a process: ", std::strerror(errno));
  if (child.pid == 0) {
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, child.limits.seconds + 5);
    if (!address_sanitizer) limit(RLIMIT_AS, child.limits.memory_bytes);
    // '+' before the reason says that the process came to an end by itself.
    std::string verdict =
        "+" + run_case(c, o.on == "cpu" ? Engine::cpu : Engine::reference, o.optimised);
    verdict.resize(std::min<std::size_t>(verdict.size(), 2000));
    for (std::string_view left = verdict; !left.empty();) {
      const ssize_t n = ::write(ends[1], left.data(), left.size());
      if (n <= 0) break;
      left.remove_prefix(static_cast<std::size_t>(n));
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  child.pipe = ends[0];
  return child;
}

/// Reads what is there; false at the end.
bool drain(Child& c) {
  char buffer[4096];
  const ssize_t n = ::read(c.pipe, buffer, sizeof buffer);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  c.text.append(buffer, static_cast<std::size_t>(n));
  return n > 0;
}

/// Waits for the process: empty if the case passed.
std::string finish(Child& c, bool timed_out) {
  if (timed_out) ::kill(c.pid, SIGKILL);
  int status = 0;
  while (::waitpid(c.pid, &status, 0) < 0 && errno == EINTR) {
  }
  ::close(c.pipe);
  if (timed_out) return str("it took more than ", c.limits.seconds, " s");
  if (WIFSIGNALED(status)) return str("it crashed: ", ::strsignal(WTERMSIG(status)));
  if (c.text.empty() || c.text[0] != '+' || WEXITSTATUS(status) != 0)
    return str("it ended with status ", WEXITSTATUS(status));
  return c.text.substr(1);
}

struct Verdict {
  bool skipped = false;
  std::string reason;  // empty: passed
  double ms = 0;
};

std::vector<Verdict> run_all(const std::vector<OnnxCase>& cases, const Options& o) {
  std::vector<Verdict> verdicts(cases.size());
  std::vector<Child> running;
  const std::set<std::string> skip(o.skip.begin(), o.skip.end());
  std::size_t next = 0;
  while (next < cases.size() || !running.empty()) {
    while (next < cases.size() && running.size() < o.jobs) {
      if (skip.contains(cases[next].name))
        verdicts[next].skipped = true;
      else
        running.push_back(start(next, cases[next], o));
      next++;
    }
    std::vector<pollfd> polls;
    int patience_ms = 1000;
    for (const Child& c : running) {
      polls.push_back({c.pipe, POLLIN, 0});
      const auto end = c.start + std::chrono::seconds(c.limits.seconds);
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count() + 1;
      patience_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, patience_ms));
    }
    if (::poll(polls.data(), polls.size(), patience_ms) < 0 && errno != EINTR)
      fail(Code::io, "cannot wait for a process: ", std::strerror(errno));
    for (std::size_t i = running.size(); i-- > 0;) {
      Child& c = running[i];
      const bool ended = polls[i].revents != 0 && !drain(c);
      const bool late = !ended && Clock::now() - c.start > std::chrono::seconds(c.limits.seconds);
      if (!ended && !late) continue;
      Verdict& v = verdicts[c.which];
      v.reason = finish(c, late);
      v.ms = std::chrono::duration<double, std::milli>(Clock::now() - c.start).count();
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return verdicts;
}

int run(const Options& o) {
  std::vector<OnnxCase> cases;
  for (const std::string& folder : o.folders)
    for (OnnxCase& c : find_cases(folder)) cases.push_back(std::move(c));
  for (const std::string& name : o.skip)
    if (std::ranges::find(cases, name, &OnnxCase::name) == cases.end())
      warn("no case is named '" + name + "'");
  const std::vector<Verdict> verdicts = run_all(cases, o);
  std::size_t passed = 0, failed = 0, skipped = 0;
  Json list = Json::array();
  for (std::size_t i = 0; i < cases.size(); i++) {
    const Verdict& v = verdicts[i];
    const char* result = v.skipped ? "skipped" : v.reason.empty() ? "passed" : "failed";
    (v.skipped ? skipped : v.reason.empty() ? passed : failed)++;
    if (o.json) {
      list.push_back(
          {{"name", cases[i].name}, {"result", result}, {"reason", v.reason}, {"ms", v.ms}});
    } else if (!v.reason.empty()) {
      std::cout << "failed  " << cases[i].name << ": " << v.reason << "\n";
    } else if (o.verbose) {
      std::cout << result << (v.skipped ? " " : "  ") << cases[i].name << "\n";
    }
  }
  if (o.json) {
    print_json({{"passed", passed}, {"failed", failed}, {"skipped", skipped}, {"cases", list}});
  }
  std::cout << passed << " passed, " << failed << " failed, " << skipped << " skipped" << std::endl;
  return failed == 0 ? exit_code::yes : exit_code::no;
}

std::function<int()> setup(CommandLine& app) {
  const auto o = std::make_shared<Options>();
  o->jobs = std::max(1u, std::thread::hardware_concurrency());
  app.add_option("folder", o->folders,
                 "Test folders (model.onnx, test_data_set_N), or folders of them")
      .required();
  app.add_option("--skip", o->skip, "Leave out the case of this name").one_at_a_time();
  app.add_option("--on", o->on, "Engine").one_of({"reference", "cpu"}).show_default();
  app.add_option("-j,--jobs", o->jobs, "Cases at the same time").range(1u, 256u).show_default();
  app.add_option("--seconds", o->seconds, "Time limit of a case; 10 for those that must be refused")
      .range(1u, 86400u)
      .show_default();
  app.add_option("--memory", o->memory_mib,
                 "Memory limit of a case in MiB; 1024 for those that must be refused")
      .range(64u, 1u << 20)
      .show_default();
  app.add_flag("--optimise,--optimize", o->optimised, "Run every case a second time, optimised");
  app.add_flag("--json", o->json, "One JSON object on the line before the last");
  app.add_flag("-v,--verbose", o->verbose, "Name the cases that passed, too");
  return [o] { return run(*o); };
}

}  // namespace

extern constinit const Command command_test_onnx = {
    .name = "test-onnx",
    .doc = "Runs ONNX backend tests, each in a process of its own; the last line counts them",
    .setup = setup,
};

}  // namespace longshore::commands
