#include "postrider/cli/session.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "postrider/base/nearest.h"
#include "postrider/cli/output.h"
#include "postrider/cli/screen.h"
#include "postrider/cli/wording.h"

namespace postrider {
namespace {

constexpr std::size_t kTokenBytesMax = 4096;
constexpr std::uint64_t kLimitDefault = 100;
constexpr std::uint64_t kLimitMax = 1000;
constexpr std::uint64_t kWatchSeconds = 2;
constexpr std::uint64_t kWatchSecondsMax = 86'400;
constexpr std::size_t kNamesLookedAtMax = 20'000;
constexpr std::size_t kItemsSortedMax = 20'000;
constexpr std::size_t kNamesToldMax = 8;

// Where what can be named is listed.
struct Named {
  std::string_view what;
  std::string_view noun;
  std::string_view path;
  std::string_view list;
};
constexpr auto kNamed = std::to_array<Named>({
    {"destination", "dest", "/v1/destinations?limit=1000", "destinations"},
    {"group", "group", "/v1/groups?limit=1000", "groups"},
    {"hold", "hold", "/v1/holds", "holds"},
});

std::string variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return value == nullptr ? "" : value;
}

std::string without_line_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
    text.pop_back();
  return text;
}

// What comes after "Bearer " must not begin a header of its own.
bool is_token(std::string_view text) {
  for (const char c : text) {
    if (c <= ' ' || c >= 127) return false;
  }
  return true;
}

Result<std::string> find_token(const Parsed& parsed) {
  if (const std::string* token = parsed.find("--token")) return *token;
  std::string file = parsed.text("--token-file");
  if (file.empty() && !variable("POSTRIDER_TOKEN").empty()) return variable("POSTRIDER_TOKEN");
  if (file.empty()) file = variable("POSTRIDER_TOKEN_FILE");
  if (file.empty()) return std::string();
  POSTRIDER_TRY(text, read_file(file, kTokenBytesMax));
  return without_line_end(std::move(text));
}

}  // namespace

std::optional<Session> Session::open(const Parsed& parsed, int& code) {
  Session session;
  session.command_ = parsed.command;
  session.json_ = parsed.has("--json");
  code = kExitUsage;
  const std::string from_environment = variable("POSTRIDER_URL");
  session.client_.url = parsed.text(
      "--url", from_environment.empty() ? kDefaultUrl : std::string_view(from_environment));
  if (const Result<ClientTarget> target = parse_target(session.client_.url); !target) {
    usage_error(parsed.command, target.error().detail);
    return std::nullopt;
  }
  Result<std::string> token = find_token(parsed);
  if (!token || !is_token(*token)) {
    usage_error(parsed.command, token ? "a token has printable characters and no spaces"
                                      : "the token: " + token.error().detail);
    return std::nullopt;
  }
  session.client_.token = std::move(*token);
  code = kExitOk;
  return session;
}

void Session::complain(std::string_view what) const {
  if (complaints_ != nullptr) {
    complaints_->append(what).append("\n");
    return;
  }
  postrider::complain(command_, what);
}

// ", did you mean 'billing'?" when the detail says that something of a name is not there. The
// daemon is asked for the names that it has; only for people, and only after a refusal.
std::string Session::nearest_known(std::string_view detail) const {
  for (const auto& [what, noun, path, list] : kNamed) {
    const std::string before = "there is no " + std::string(what) + " '";
    const std::size_t begin = detail.find(before);
    if (begin == std::string_view::npos) continue;
    std::string_view name = detail.substr(begin + before.size());
    name = name.substr(0, name.rfind('\''));
    std::vector<std::string> names;
    if (!known_names(path, list, names)) return {};
    if (names.empty())
      return what == "destination" ? "; there is none yet: postrider dest put NAME URL" : "";
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    if (std::string guess = did_you_mean(name, candidates); !guess.empty()) return guess;
    if (names.size() > kNamesToldMax)
      return "; 'postrider " + std::string(noun) + " ls' lists them";
    std::sort(names.begin(), names.end());
    std::string told = "; there " + std::string(names.size() == 1 ? "is " : "are ");
    for (std::size_t i = 0; i < names.size(); ++i) told.append(i == 0 ? "" : ", ").append(names[i]);
    return told;
  }
  return {};
}

// False: they cannot be had.
bool Session::known_names(std::string_view path, std::string_view list,
                          std::vector<std::string>& names) const {
  std::string next;
  do {
    ClientRequest request;
    request.path = path;
    if (!next.empty()) request.path.append("&cursor=").append(percent_encode(next));
    const Result<ClientAnswer> answer = postrider::ask(client_, request);
    if (!answer || answer->status != 200) return false;
    const Result<Json> page = parse_json(answer->body);
    if (!page) return false;
    for (const Json& item : page->list(list)) names.push_back(shown(item.at("name")));
    next = page->at("next");
  } while (!next.empty() && names.size() < kNamesLookedAtMax);
  return true;
}

void Session::complain(const ClientAnswer& answer) const {
  const bool problem = answer.header("content-type").starts_with("application/problem+json");
  const Result<Json> said = parse_json(answer.body);
  // On the routes of the device profile.
  const std::string plain = said && !problem ? said->at("error") : std::string();
  if ((problem || !plain.empty()) && json_ && complaints_ == nullptr) {
    std::fprintf(stderr, "%s\n", answer.body.c_str());
    return;
  }
  std::string what = "the daemon answered with " + std::to_string(answer.status);
  if (!plain.empty()) {
    what = shown(plain, 1000);
  } else if (problem && said) {
    // The detail says all that the title does, and what to do next.
    const std::string detail = in_command_words(shown(said->at("detail"), 1000));
    const std::string field = shown(said->at("field"));
    what = detail.empty() ? shown(said->at("title")) : detail;
    if (!field.empty() && detail.find(field) == std::string::npos)
      what.append(" (").append(field).append(")");
    if (answer.status == 404) what += nearest_known(detail);
  } else if (!answer.body.empty()) {
    what.append(": ").append(shown(answer.body));
  }
  if (answer.status == 401)
    what += "; say which with --token-file, POSTRIDER_TOKEN_FILE or POSTRIDER_TOKEN";
  if (const std::string_view wait = answer.header("retry-after"); !wait.empty())
    what.append("; try again in ").append(shown(wait)).append("s");
  complain(what);
}

// A good answer's body, which is JSON.
std::optional<std::string> Session::answer_to(const ClientRequest& request) const {
  Result<ClientAnswer> answer = postrider::ask(client_, request);
  if (!answer) {
    complain(answer.error().detail);
    return std::nullopt;
  }
  if (answer->status / 100 != 2) {
    complain(*answer);
    return std::nullopt;
  }
  if (!parse_json(answer->body)) {
    complain("the daemon's answer is no JSON; is this address really Postrider's?");
    return std::nullopt;
  }
  return std::move(answer->body);
}

std::optional<Json> Session::ask(const ClientRequest& request, bool prints) const {
  const std::optional<std::string> body = answer_to(request);
  if (!body) return std::nullopt;
  if (json_ && prints) print(*body + "\n");
  return *parse_json(*body);
}

std::optional<Json> Session::ask_and_add(const ClientRequest& request, std::string_view name,
                                         std::string_view value) const {
  const std::optional<std::string> body = answer_to(request);
  if (!body) return std::nullopt;
  if (json_) print(with_member(*body, name, value) + "\n");
  return *parse_json(*body);
}

struct Session::Wanted {
  std::string_view path;
  std::string_view name;
  std::string cursor;
  std::uint64_t limit;
  bool all;
  Row row;
  Arranged arranged;
};

std::optional<Json> Session::ask_page(const Wanted& wanted, std::uint64_t limit,
                                      const std::string& cursor) const {
  ClientRequest request;
  request.path = wanted.path;
  request.path.append(wanted.path.find('?') == std::string_view::npos ? "?" : "&");
  request.path.append("limit=").append(std::to_string(limit));
  if (!cursor.empty()) request.path.append("&cursor=").append(percent_encode(cursor));
  return ask(request);
}

int Session::list_once(const Wanted& wanted, Table table, std::string& text) const {
  std::string next = wanted.cursor;
  const Timestamp now = wall_now();
  do {
    const std::optional<Json> page = ask_page(wanted, wanted.limit, next);
    if (!page) return kExitFailure;
    next = page->at("next");
    if (json_) continue;
    std::vector<Json> items = page->list(wanted.name);
    if (wanted.arranged.complete != nullptr && !wanted.arranged.complete(*this, items))
      return kExitFailure;
    for (const Json& item : items) table.add(wanted.row(item, now));
  } while (!next.empty() && wanted.all);
  if (json_) return kExitOk;
  text += table.empty() ? "none\n" : table.text();
  if (!next.empty()) text += "there are more: --all, or --cursor " + shown(next) + "\n";
  return kExitOk;
}

// The daemon's order is a stable one and means nothing to people.
int Session::list_sorted(const Wanted& wanted, Table table, std::string& text) const {
  std::vector<Json> items;
  std::string next;
  do {
    std::optional<Json> page = ask_page(wanted, kLimitMax, next);
    if (!page) return kExitFailure;
    for (const Json& item : page->list(wanted.name)) items.push_back(item);
    next = page->at("next");
  } while (!next.empty() && items.size() < kItemsSortedMax);
  if (wanted.arranged.complete != nullptr && !wanted.arranged.complete(*this, items))
    return kExitFailure;
  std::sort(items.begin(), items.end(), [&](const Json& a, const Json& b) {
    return a.at(wanted.arranged.by) < b.at(wanted.arranged.by);
  });
  const std::size_t count =
      wanted.all ? items.size() : std::min<std::size_t>(items.size(), wanted.limit);
  const Timestamp now = wall_now();
  for (std::size_t i = 0; i < count; ++i) table.add(wanted.row(items[i], now));
  text += table.empty() ? "none\n" : table.text();
  if (!next.empty()) {
    text += "these are of the first " + std::to_string(items.size()) +
            " only: say less with a filter, or page by page with --json\n";
  } else if (count < items.size()) {
    text += "there are " + std::to_string(items.size() - count) + " more: --all\n";
  }
  return kExitOk;
}

int Session::list(const Parsed& parsed, std::string_view path, std::string_view name, Table table,
                  Row row, const Arranged& arranged) const {
  const Result<std::uint64_t> limit = parsed.number("--limit", kLimitDefault, 1, kLimitMax);
  if (!limit) return postrider::complain(parsed, limit.error());
  const Wanted wanted{path, name,    parsed.text("--cursor"), *limit, parsed.has("--all"),
                      row,  arranged};
  const bool sorts = !arranged.by.empty() && !json_ && wanted.cursor.empty();
  return show(parsed, *this, [&](const Session& session, std::string& text) {
    return sorts ? session.list_sorted(wanted, table, text)
                 : session.list_once(wanted, table, text);
  });
}

bool Session::walk(std::string_view path, std::string_view list,
                   const std::function<void(const Json& item)>& each) const {
  std::string next;
  do {
    ClientRequest request;
    request.path = std::string(path) + "?limit=" + std::to_string(kLimitMax);
    if (!next.empty()) request.path.append("&cursor=").append(percent_encode(next));
    const std::optional<Json> page = ask(request, false);
    if (!page) return false;
    for (const Json& item : page->list(list)) each(item);
    next = page->at("next");
  } while (!next.empty());
  return true;
}

int show(const Parsed& parsed, const Session& session, const Look& look) {
  if (parsed.has("--watch")) return watch(parsed, session, look);
  std::string text;
  const int code = look(session, text);
  print(text);
  return code;
}

int watch(const Parsed& parsed, Session session, const Look& look) {
  const bool given = !parsed.text("--watch").empty();
  const Result<std::uint64_t> seconds =
      given ? parsed.number("--watch", 0, 1, kWatchSecondsMax) : kWatchSeconds;
  if (!seconds) return complain(parsed, seconds.error());
  Screen screen(session.json() ? Screen::Use::kPrint : Screen::Use::kDraw);
  std::string complaints;
  if (screen.is_terminal()) session.gather_complaints(&complaints);
  while (true) {
    std::string text;
    complaints.clear();
    const int code = look(session, text);
    std::fflush(stdout);
    if (screen.is_terminal()) {
      text = "every " + std::to_string(*seconds) + "s: postrider " + parsed.command + "   " +
             clock_text(wall_now()) + "   q ends it\n\n" +
             (code == kExitOk ? text : coloured(complaints, Colour::kBad));
    } else if (code != kExitOk) {
      return code;
    }
    screen.show(text);
    const char key = screen.wait(Duration(static_cast<std::int64_t>(*seconds) * 1000));
    if (key == Screen::kStop || key == 'q') return kExitOk;
  }
}

void add_key(const Parsed& parsed, ClientRequest& request) {
  if (const std::string* key = parsed.find("--idempotency-key"))
    request.headers.emplace_back("idempotency-key", *key);
}

std::string query_of(const Parsed& parsed,
                     const std::vector<std::pair<std::string_view, std::string_view>>& names) {
  std::string query;
  for (const auto& [option, parameter] : names) {
    const std::string* value = parsed.find(option);
    if (value == nullptr) continue;
    query.append(query.empty() ? "?" : "&").append(parameter).append("=");
    query.append(percent_encode(*value));
  }
  return query;
}

Result<std::string> read_file(const std::string& path, std::size_t bytes_max) {
  std::FILE* const file = path == "-" ? stdin : std::fopen(path.c_str(), "rbe");
  if (file == nullptr)
    return fail(ErrorCode::kUnavailable,
                "'" + path + "': " + std::generic_category().message(errno));
  std::string bytes(bytes_max + 1, '\0');
  const std::size_t size = std::fread(bytes.data(), 1, bytes.size(), file);
  const bool broken = std::ferror(file) != 0;
  const std::string reason = std::generic_category().message(errno);
  if (file != stdin) std::fclose(file);
  if (broken) return fail(ErrorCode::kUnavailable, "'" + path + "': " + reason);
  if (size > bytes_max)
    return fail(ErrorCode::kLimit,
                "'" + path + "' is larger than " + std::to_string(bytes_max) + " bytes");
  bytes.resize(size);
  return bytes;
}

}  // namespace postrider
