// postrider dlq export | import: dead letters as lines of JSON.
#include "apps/postrider/dlq_files.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "apps/postrider/job.h"
#include "postrider/cli/messages.h"
#include "postrider/cli/output.h"
#include "postrider/cli/session.h"

namespace postrider {
namespace {

constexpr std::size_t kPieceBytes = 256 * 1024;    // of one request; its answers fit the way back
constexpr std::size_t kFileBytesMax = 1ULL << 30;  // larger files are brought in parts

// The lines of a page without its last one, which says where the next begins.
std::string take_next(std::string& page) {
  const std::size_t end = page.empty() ? std::string::npos : page.rfind('\n', page.size() - 2);
  const std::size_t last = end == std::string::npos ? 0 : end + 1;
  const Result<Json> line = parse_json(std::string_view(page).substr(last));
  if (!line || line->find("id") != nullptr) return {};
  std::string next = line->at("next");
  if (!next.empty()) page.resize(last);
  return next;
}

struct Brought {
  std::uint64_t taken = 0;
  std::uint64_t known = 0;
  std::uint64_t refused = 0;
};

void count_lines(const std::string& answer, std::uint64_t before, Brought& out) {
  for (std::size_t at = 0; at < answer.size();) {
    const std::size_t end = std::min(answer.find('\n', at), answer.size());
    const Result<Json> line = parse_json(std::string_view(answer).substr(at, end - at));
    at = end + 1;
    if (!line) continue;
    const Json* problem = line->find("problem");
    if (problem == nullptr) {
      ++(line->at("replayed") == "true" ? out.known : out.taken);
      continue;
    }
    ++out.refused;
    const std::uint64_t number = before + std::strtoull(line->at("line").c_str(), nullptr, 10);
    std::fprintf(stderr, "line %llu: %s\n", static_cast<unsigned long long>(number),
                 shown(problem->at("detail"), 500).c_str());
  }
}

}  // namespace

int export_letters(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  std::string next;
  do {
    ClientRequest request;
    request.path = "/v1/dead-letters/export";
    if (!next.empty()) request.path += "?cursor=" + percent_encode(next);
    const Result<ClientAnswer> answer = ask(session->client(), request);
    if (!answer) {
      session->complain(answer.error().detail);
      return kExitFailure;
    }
    if (answer->status != 200) {
      session->complain(*answer);
      return kExitFailure;
    }
    std::string page = answer->body;
    next = take_next(page);
    print(page);
  } while (!next.empty());
  return kExitOk;
}

int import_letters(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  const Result<std::string> file = read_file(parsed.operands[0], kFileBytesMax);
  if (!file) return complain(parsed, file.error());
  Brought brought;
  std::uint64_t lines = 0;
  for (std::size_t at = 0; at < file->size();) {
    std::size_t end = file->size();
    if (end - at > kPieceBytes) {
      end = file->rfind('\n', at + kPieceBytes) + 1;
      if (end <= at) end = std::min(file->find('\n', at), file->size() - 1) + 1;
    }
    ClientRequest request;
    request.method = "POST";
    request.path = "/v1/dead-letters/import";
    if (parsed.has(kEvenIfItRan.name)) request.path += kEvenIfItRanQuery;
    request.content_type = "application/x-ndjson";
    request.body = file->substr(at, end - at);
    const Result<ClientAnswer> answer = ask(session->client(), request);
    if (!answer) {
      session->complain(answer.error().detail);
      return kExitFailure;
    }
    if (answer->status != 200) {
      session->complain(*answer);
      return kExitFailure;
    }
    if (session->json()) print(answer->body);
    count_lines(answer->body, lines, brought);
    lines += static_cast<std::uint64_t>(std::count(request.body.begin(), request.body.end(), '\n'));
    at = end;
  }
  if (!session->json())
    print(std::to_string(brought.taken) + " taken, " + std::to_string(brought.known) +
          " known already, " + std::to_string(brought.refused) + " refused\n");
  return brought.refused == 0 ? kExitOk : kExitFailure;
}

}  // namespace postrider
