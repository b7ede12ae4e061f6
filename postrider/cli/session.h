// Session: one command's talk with the daemon. Finds address and token, asks, and turns refusals
// into words and exit codes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/cli/client.h"
#include "postrider/cli/json.h"
#include "postrider/cli/options.h"
#include "postrider/cli/output.h"

namespace postrider {

class Session;

// How a list is shown beyond what the daemon tells of it.
struct Arranged {
  std::string_view by = {};  // empty: as the daemon lists them
  // Adds to items of the table what another list tells. False: a complaint is printed.
  bool (*complete)(const Session& session, std::vector<Json>& items) = nullptr;
};

class Session {
 public:
  // Empty: the complaint is printed and `code` is the exit code.
  static std::optional<Session> open(const Parsed& parsed, int& code);

  bool json() const { return json_; }
  const ClientOptions& client() const { return client_; }

  // The daemon's good answer as JSON; with --json it is printed when `prints`. Nothing: a complaint
  // is printed, and the exit code is kExitFailure.
  std::optional<Json> ask(const ClientRequest& request, bool prints = true) const;
  // The same; what is printed has one more member, that the daemon does not tell.
  std::optional<Json> ask_and_add(const ClientRequest& request, std::string_view name,
                                  std::string_view value) const;

  // Pages of a list, as --limit, --cursor and --all say, once or, with --watch, until it is
  // stopped. With --json each page is printed as it comes; otherwise `row` makes a row of the
  // table, which is printed at the end. A table may be sorted by a member: then all pages are read
  // first, and --limit rows of them are shown. The exit code.
  using Row = std::vector<Table::Cell> (*)(const Json& item, Timestamp now);
  int list(const Parsed& parsed, std::string_view path, std::string_view name, Table table, Row row,
           const Arranged& arranged = {}) const;

  // Calls `each` with every item of every page of a list. False: a complaint is printed.
  bool walk(std::string_view path, std::string_view list,
            const std::function<void(const Json& item)>& each) const;

  // A refusal or a failure, in words on the standard error, or to whoever gathers complaints.
  void gather_complaints(std::string* where) { complaints_ = where; }
  void complain(std::string_view what) const;
  void complain(const ClientAnswer& answer) const;

 private:
  struct Wanted;
  std::string nearest_known(std::string_view detail) const;
  bool known_names(std::string_view path, std::string_view list,
                   std::vector<std::string>& names) const;
  std::optional<std::string> answer_to(const ClientRequest& request) const;
  int list_once(const Wanted& wanted, Table table, std::string& text) const;
  int list_sorted(const Wanted& wanted, Table table, std::string& text) const;
  std::optional<Json> ask_page(const Wanted& wanted, std::uint64_t limit,
                               const std::string& cursor) const;

  ClientOptions client_;
  std::string* complaints_ = nullptr;
  std::string command_;
  bool json_ = false;
};

// Options of every command that prints a list.
inline constexpr OptionRow kLimitRow = {"--limit", "N", "rows of a page, 1 to 1000 (100)"};
inline constexpr OptionRow kCursorRow = {"--cursor", "CURSOR", "go on behind an earlier page"};
inline constexpr OptionRow kWatchRow = {"--watch", "[SECONDS]",
                                        "look again and again, every 2 seconds unless told"};
inline constexpr OptionRow kAllRow = {"--all", "", "all pages"};
inline constexpr OptionRow kKeyRow = {"--idempotency-key", "KEY",
                                      "the same key again gets the same answer and does nothing"};

// Shows what `look` makes until it is stopped, every so many seconds as --watch says. A look that
// fails is shown and made again, unless nobody watches a terminal: then it ends with its code.
using Look = std::function<int(const Session& session, std::string& text)>;
int watch(const Parsed& parsed, Session session, const Look& look);

// The same once, or with --watch until it is stopped. The exit code.
int show(const Parsed& parsed, const Session& session, const Look& look);

// Adds the header when the key was given.
void add_key(const Parsed& parsed, ClientRequest& request);

// "?a=b&c=d" of the options that were given.
std::string query_of(const Parsed& parsed,
                     const std::vector<std::pair<std::string_view, std::string_view>>& names);

Result<std::string> read_file(const std::string& path,
                              std::size_t bytes_max);  // "-": standard input

}  // namespace postrider
