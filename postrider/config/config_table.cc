// The rows of the configuration itself. A new setting is a new row here and nothing else.
#include <array>

#include "postrider/config/config_part.h"
#include "postrider/config/config_rows.h"
#include "postrider/shard/limits.h"

namespace postrider {
namespace {

// The field at the end of a chain of members.
template <auto... kPath>
auto& at(Config& config) {
  return (config.*....*kPath);
}

template <auto kMember>
constexpr auto kServer = &at<&Config::server, kMember>;
template <auto kMember>
constexpr auto kHttp = &at<&Config::server, &ServerConfig::limits, kMember>;
template <auto kMember>
constexpr auto kApi = &at<&Config::api, kMember>;
template <auto kMember>
constexpr auto kStore = &at<&Config::store, kMember>;
template <auto kMember>
constexpr auto kHost = &at<&Config::host, kMember>;
template <auto... kPath>
constexpr auto kStations = &at<&Config::host, &HostOptions::stations, kPath...>;
template <auto kMember>
constexpr auto kShard = &at<&Config::host, &HostOptions::shard, kMember>;
template <auto... kPath>
constexpr auto kEngine = &at<&Config::host, &HostOptions::shard, &ShardOptions::engine, kPath...>;
template <auto kMember>
constexpr auto kLimit = kEngine<&EngineOptions::limits, kMember>;
template <auto kMember>
constexpr auto kTransport = &at<&Config::transport, kMember>;
template <auto kMember>
constexpr auto kGrpc = &at<&Config::grpc, kMember>;

using limits::kDay;
using limits::kGiB;
using limits::kHour;
using limits::kKiB;
using limits::kMiB;
using limits::kMillion;
using limits::kMinute;
using limits::kSecond;
using limits::range_of;

constexpr auto kLevels = std::to_array<std::string_view>({"debug", "info", "warning", "error"});
constexpr auto kFormats = std::to_array<std::string_view>({"text", "json"});

constexpr ConfigKind kText = ConfigKind::kText;
constexpr ConfigKind kWord = ConfigKind::kWord;
constexpr ConfigKind kTexts = ConfigKind::kTexts;
constexpr ConfigKind kNumber = ConfigKind::kNumber;
constexpr ConfigKind kBytes = ConfigKind::kBytes;
constexpr ConfigKind kDuration = ConfigKind::kDuration;
constexpr ConfigBounds kAnyText{0, kConfigTextBytesMax};
constexpr ConfigBounds kAnyList{0, kConfigListMax};

// clang-format off
constexpr auto kSections = std::to_array<ConfigSection>({
    {"server", "where clients reach us, and what each may cost"},
    {"store", "where messages are kept"},
    {"engine", "limits of messages and memory, and how long things are remembered"},
    {"transport", "the way out: connections to destinations, and where they may lead"},
    {"grpc", "calls to network servers; where [transport] has the same setting, that one counts here too"},
    {"metrics", "what /metrics tells"},
    {"door", "how much may wait before the door closes"},
    {"stations", "what stays connected to far sides; [stations.PROFILE] seats the station of a profile"},
    {"log", "what is told on the standard error", true},
    {"drain", "the way down", true},
});

constexpr auto kRows = std::to_array<ConfigRow>({
    {"server", "listen", kTexts, kServer<&ServerConfig::listen>, kAnyList,
     "addresses to listen on; beyond loopback only with a token"},
    {"server", "names", kTexts, kApi<&HttpApiOptions::names>, kAnyList,
     "without tokens: names by which clients may ask, beside localhost and loopback addresses"},
    {"server", "unix_socket", kText, kServer<&ServerConfig::unix_socket>, {0, 107},
     "path of a Unix socket; empty: none"},
    {"server", "tls_certificate", kText, kServer<&ServerConfig::tls_certificate>, kAnyText,
     "PEM file with the certificate chain; with tls_key, all of listen speaks TLS"},
    {"server", "tls_key", kText, kServer<&ServerConfig::tls_key>, kAnyText,
     "PEM file with its private key"},
    {"server", "connections_max", kNumber, kHttp<&HttpLimits::connections_max>, {1, kMillion},
     "clients connected at once"},
    {"server", "head_bytes_max", kBytes, kHttp<&HttpLimits::head_bytes_max>, {2 * kKiB, kMiB},
     "request line and headers"},
    {"server", "request_bytes_max", kBytes, kHttp<&HttpLimits::body_bytes_max>, {kKiB, 64 * kMiB},
     "body of a request that is not streamed"},
    {"server", "pipelined_max", kNumber, kHttp<&HttpLimits::pipelined_max>, {1, 1024},
     "requests of one connection under way"},
    {"server", "unsent_bytes_max", kBytes, kHttp<&HttpLimits::unsent_bytes_max>, {64 * kKiB, kGiB},
     "answers that one connection has not taken; a slower reader is cut"},
    {"server", "held_bytes_max", kBytes, kHttp<&HttpLimits::held_bytes_max>, {kMiB, 64 * kGiB},
     "requests and untaken answers of all connections together; above it 503"},
    {"server", "headers_max", kNumber, kHttp<&HttpLimits::headers_max>, {16, 4096},
     "headers of one request"},
    {"server", "head_time_out", kDuration, kHttp<&HttpLimits::head_time_out>, {100, 10 * kMinute},
     "from the first byte to the end of the head"},
    {"server", "body_time_out", kDuration, kHttp<&HttpLimits::body_time_out>, {100, 10 * kMinute},
     "between two pieces of a body"},
    {"server", "whole_body_time_out", kDuration, kHttp<&HttpLimits::whole_body_time_out>, {kSecond, kHour},
     "a body that is not streamed, from the head to its last piece"},
    {"server", "idle_time_out", kDuration, kHttp<&HttpLimits::idle_time_out>, {100, kDay},
     "between two requests of a connection"},
    {"server", "json_depth_max", kNumber, kApi<&HttpApiOptions::json_depth_max>, {4, 256},
     "nesting of a request's JSON"},
    {"server", "json_values_max", kNumber, kApi<&HttpApiOptions::json_values_max>, {100, 10 * kMillion},
     "values and names in one JSON text"},
    {"server", "line_bytes_max", kBytes, kApi<&HttpApiOptions::line_bytes_max>, {kKiB, 64 * kMiB},
     "one line of an NDJSON request"},
    {"server", "lines_waiting_max", kNumber, kApi<&HttpApiOptions::lines_waiting_max>, {1, 65'536},
     "lines of one NDJSON request that are not answered yet"},
    {"server", "tails_max", kNumber, kApi<&HttpApiOptions::tails_max>, {0, 10'000},
     "clients of /v1/events at once"},

    {"store", "directory", kText, kStore<&StoreConfig::directory>, {1, kConfigTextBytesMax},
     "where messages are kept; made with mode 0700 when it is not there"},
    {"store", "cache_bytes", kBytes, kStore<&StoreConfig::cache_bytes>, {kMiB, 64 * kGiB},
     "memory for blocks, indexes and filters"},
    {"store", "memtable_bytes", kBytes, kStore<&StoreConfig::memtable_bytes>, {kMiB, kGiB},
     "memory for writes before they go to a table; there are up to 12 of them"},
    {"store", "wal_bytes_max", kBytes, kStore<&StoreConfig::wal_bytes_max>, {kMiB, 64 * kGiB},
     "what a restart has to read at most"},
    {"store", "open_files_max", kNumber, kStore<&StoreConfig::open_files_max>, {32, kMillion},
     "files of the store that are open at once"},
    {"store", "free_bytes_min", kBytes, kStore<&StoreConfig::free_bytes_min>, {kMiB, 1024 * kGiB, true},
     "less free space on the disk than this: new messages are refused, and it is left for ends; 0: never"},
    {"store", "free_bytes_reserve", kBytes, kStore<&StoreConfig::free_bytes_reserve>, {kMiB, 1024 * kGiB, true},
     "kept on the disk in a file, and given up for ends when others have filled it; 0: none"},

    {"engine", "body_bytes_max", kBytes, kLimit<&EngineLimits::body_bytes_max>, range_of("body_bytes_max"),
     "body of a message"},
    {"engine", "attributes_bytes_max", kBytes, kLimit<&EngineLimits::attributes_bytes_max>, range_of("attributes_bytes_max"),
     "headers and other attributes of a message"},
    {"engine", "key_bytes_max", kNumber, kLimit<&EngineLimits::key_bytes_max>, range_of("key_bytes_max"),
     "bytes of an operation key"},
    {"engine", "name_bytes_max", kNumber, kLimit<&EngineLimits::name_bytes_max>, range_of("name_bytes_max"),
     "bytes of the name of a destination"},
    {"engine", "settings_bytes_max", kBytes, kLimit<&EngineLimits::settings_bytes_max>, range_of("settings_bytes_max"),
     "settings of a destination"},
    {"engine", "reason_bytes_max", kNumber, kLimit<&EngineLimits::reason_bytes_max>, range_of("reason_bytes_max"),
     "bytes of a reason that is kept"},
    {"engine", "attempts_kept_max", kNumber, kLimit<&EngineLimits::attempts_kept_max>, range_of("attempts_kept_max"),
     "attempts of a message that are told one by one; older ones are counted"},
    {"engine", "open_attempts_max", kNumber, kLimit<&EngineLimits::open_attempts_max>, range_of("open_attempts_max"),
     "attempts under way in the whole daemon"},
    {"engine", "window_bytes_max", kBytes, kLimit<&EngineLimits::window_bytes_max>, range_of("window_bytes_max"),
     "messages in memory, of all destinations"},
    {"engine", "refill_rows_max", kNumber, kLimit<&EngineLimits::refill_rows_max>, range_of("refill_rows_max"),
     "messages read at once when a window runs low"},
    {"engine", "hot_sleepers_max", kNumber, kLimit<&EngineLimits::hot_sleepers_max>, range_of("hot_sleepers_max"),
     "messages in memory that wait for a near attempt"},
    {"engine", "hot_sleep_max", kDuration, kLimit<&EngineLimits::hot_sleep_max>, range_of("hot_sleep_max"),
     "a message that waits longer leaves the memory"},
    {"engine", "residents_max", kNumber, kLimit<&EngineLimits::residents_max>, range_of("residents_max"),
     "destinations in memory that have nothing to do"},
    {"engine", "due_rows_max", kNumber, kLimit<&EngineLimits::due_rows_max>, range_of("due_rows_max"),
     "due entries read at once"},
    {"engine", "due_horizon", kDuration, kLimit<&EngineLimits::due_horizon>, range_of("due_horizon"),
     "what is due later stays on the disk"},
    {"engine", "restore_rows_max", kNumber, kLimit<&EngineLimits::restore_rows_max>, range_of("restore_rows_max"),
     "rows read at once after a start"},
    {"engine", "timers_per_step_max", kNumber, kLimit<&EngineLimits::timers_per_step_max>, range_of("timers_per_step_max"),
     "timers served before other events"},
    {"engine", "answer_rows_max", kNumber, kLimit<&EngineLimits::answer_rows_max>, range_of("answer_rows_max"),
     "rows of one page of a list"},
    {"engine", "arrival_bytes_max", kBytes, kLimit<&EngineLimits::arrival_bytes_max>, range_of("arrival_bytes_max"),
     "what arrives unasked, each"},
    {"engine", "lane_waiters_max", kNumber, kLimit<&EngineLimits::lane_waiters_max>, range_of("lane_waiters_max"),
     "messages of a lane that wait at gates, beyond its window"},
    {"engine", "news_per_name_max", kNumber, kLimit<&EngineLimits::news_per_name_max>, range_of("news_per_name_max"),
     "news kept for one foreign id that no message has yet"},
    {"engine", "recent_names_max", kNumber, kLimit<&EngineLimits::recent_names_max>, range_of("recent_names_max"),
     "foreign ids in memory, so that news soon after them needs no look into the store"},
    {"engine", "superseded_max", kNumber, kLimit<&EngineLimits::superseded_max>, range_of("superseded_max"),
     "older messages of one key that a new one is compared with"},
    {"engine", "swept_keys_max", kNumber, kLimit<&EngineLimits::swept_keys_max>, range_of("swept_keys_max"),
     "keys that sweeps for older values remember, all together"},
    {"engine", "sweep_cold_min", kNumber, kLimit<&EngineLimits::sweep_cold_min>, range_of("sweep_cold_min"),
     "messages of a destination on disk; with fewer no sweep begins for their number"},
    {"engine", "dead_groups_max", kNumber, kLimit<&EngineLimits::dead_groups_max>, range_of("dead_groups_max"),
     "groups of dead letters that are counted apart; beyond them together"},
    {"engine", "holds_max", kNumber, kLimit<&EngineLimits::holds_max>, range_of("holds_max"),
     "holds at a time"},
    {"engine", "job_every_min", kDuration, kLimit<&EngineLimits::job_every_min>, range_of("job_every_min"),
     "between two rounds of a job that begins anew"},
    {"engine", "jobs_running_max", kNumber, kLimit<&EngineLimits::jobs_running_max>, range_of("jobs_running_max"),
     "jobs that run at a time"},
    {"engine", "jobs_kept_max", kNumber, kLimit<&EngineLimits::jobs_kept_max>, range_of("jobs_kept_max"),
     "jobs that are remembered, finished ones too; the oldest go first"},
    {"engine", "job_rows_max", kNumber, kLimit<&EngineLimits::job_rows_max>, range_of("job_rows_max"),
     "records in a page of a job, from each bucket of dead letters"},
    {"engine", "job_rate_max", kNumber, kLimit<&EngineLimits::job_rate_max>, range_of("job_rate_max"),
     "actions per second that a job may ask for"},
    {"engine", "job_rate_usual", kNumber, kLimit<&EngineLimits::job_rate_usual>, range_of("job_rate_usual"),
     "actions per second of a job that does not say"},
    {"engine", "dry_runs_max", kNumber, kLimit<&EngineLimits::dry_runs_max>, range_of("dry_runs_max"),
     "jobs that are only counted, at a time"},
    {"engine", "dry_run_rows_max", kNumber, kLimit<&EngineLimits::dry_run_rows_max>, range_of("dry_run_rows_max"),
     "records that are read to count what a job would do"},
    {"engine", "group_members_max", kNumber, kLimit<&EngineLimits::group_members_max>, range_of("group_members_max"),
     "members of a group; a message to it is one commit for all of them"},
    {"engine", "list_destinations_max", kNumber, kLimit<&EngineLimits::list_destinations_max>, range_of("list_destinations_max"),
     "destinations of a list that are one commit; a longer list is cut into parts"},
    {"engine", "templates_max", kNumber, kLimit<&EngineLimits::templates_max>, range_of("templates_max"),
     "templates, all of which are in memory"},
    {"engine", "group_bytes_max", kBytes, kLimit<&EngineLimits::group_bytes_max>, range_of("group_bytes_max"),
     "names and types of one group"},
    {"engine", "member_types_max", kNumber, kLimit<&EngineLimits::member_types_max>, range_of("member_types_max"),
     "event types that one member of a group subscribes to"},
    {"engine", "census_pages_max", kNumber, kLimit<&EngineLimits::census_pages_max>, range_of("census_pages_max"),
     "commits whose counts of messages on the disk lie together; older ones by destination"},
    {"engine", "census_counts_max", kNumber, kLimit<&EngineLimits::census_counts_max>, range_of("census_counts_max"),
     "such counts in all, which are also in memory"},
    {"engine", "awaits_max", kNumber, kLimit<&EngineLimits::awaits_max>, range_of("awaits_max"),
     "callers that wait for the end of a message or at a mailbox, in all"},
    {"engine", "awaits_of_one_max", kNumber, kLimit<&EngineLimits::awaits_of_one_max>, range_of("awaits_of_one_max"),
     "such callers of one message or mailbox"},
    {"engine", "await_max", kDuration, kLimit<&EngineLimits::await_max>, range_of("await_max"),
     "the longest that one of them waits"},
    {"engine", "confirm_ids_max", kNumber, kLimit<&EngineLimits::confirm_ids_max>, range_of("confirm_ids_max"),
     "messages of a mailbox that are confirmed at a time"},
    {"engine", "mailbox_rows_max", kNumber, kLimit<&EngineLimits::mailbox_rows_max>, range_of("mailbox_rows_max"),
     "messages of a mailbox that one reading holds …"},
    {"engine", "mailbox_bytes_max", kBytes, kLimit<&EngineLimits::mailbox_bytes_max>, range_of("mailbox_bytes_max"),
     "… and bytes of them, beyond the first"},
    {"engine", "card_bytes_max", kBytes, kLimit<&EngineLimits::card_bytes_max>, range_of("card_bytes_max"),
     "bytes of one card that a profile keeps of its far sides"},
    {"engine", "cards_of_step_max", kNumber, kLimit<&EngineLimits::cards_of_step_max>, range_of("cards_of_step_max"),
     "cards that one event changes …"},
    {"engine", "card_bytes_of_step_max", kBytes, kLimit<&EngineLimits::card_bytes_of_step_max>, range_of("card_bytes_of_step_max"),
     "… and bytes of them"},
    {"engine", "cards_max", kNumber, kLimit<&EngineLimits::cards_max>, range_of("cards_max"),
     "cards of one profile; what wants more is refused, and nothing is thrown out"},
    {"engine", "recent_cards_max", kNumber, kLimit<&EngineLimits::recent_cards_max>, range_of("recent_cards_max"),
     "cards in memory, those that were used last …"},
    {"engine", "recent_card_bytes_max", kBytes, kLimit<&EngineLimits::recent_card_bytes_max>, range_of("recent_card_bytes_max"),
     "… and bytes of them"},
    {"engine", "body_rows_max", kNumber, kLimit<&EngineLimits::body_rows_max>, range_of("body_rows_max"),
     "references to shared bodies that are counted down in one step"},
    {"engine", "key_window", kDuration, kEngine<&EngineOptions::key_window>, range_of("key_window"),
     "an operation key answers for so long"},
    {"engine", "key_ahead", kDuration, kEngine<&EngineOptions::key_ahead>, range_of("key_ahead"),
     "a timed operation key may be so far ahead of our clock"},
    {"engine", "ledger_age", kDuration, kEngine<&EngineOptions::ledger, &Retention::age>, range_of("ledger_age"),
     "operation keys are kept; at least key_window and key_ahead together"},
    {"engine", "ledger_bytes", kBytes, kEngine<&EngineOptions::ledger, &Retention::bytes>, range_of("ledger_bytes"),
     "and at most so many bytes of them; 0: no limit"},
    {"engine", "log_age", kDuration, kEngine<&EngineOptions::log, &Retention::age>, range_of("log_age"),
     "outcomes are kept for /v1/events and timelines"},
    {"engine", "log_bytes", kBytes, kEngine<&EngineOptions::log, &Retention::bytes>, range_of("log_bytes"),
     "and at most so many bytes of them; 0: no limit"},
    {"engine", "ends_age", kDuration, kEngine<&EngineOptions::ends, &Retention::age>, range_of("ends_age"),
     "how messages ended is kept"},
    {"engine", "ends_bytes", kBytes, kEngine<&EngineOptions::ends, &Retention::bytes>, range_of("ends_bytes"),
     "and at most so many bytes of it; 0: no limit"},
    {"engine", "dead_age", kDuration, kEngine<&EngineOptions::dead, &Retention::age>, range_of("dead_age"),
     "dead letters are kept"},
    {"engine", "dead_bytes", kBytes, kEngine<&EngineOptions::dead, &Retention::bytes>, range_of("dead_bytes"),
     "and at most so many bytes of them; 0: no limit"},

    {"engine", "audit_age", kDuration, kEngine<&EngineOptions::audit, &Retention::age>, range_of("audit_age"),
     "what operators did is kept"},
    {"engine", "audit_bytes", kBytes, kEngine<&EngineOptions::audit, &Retention::bytes>, range_of("audit_bytes"),
     "and at most so many bytes of it; 0: no limit"},
    {"engine", "history_age", kDuration, kEngine<&EngineOptions::history, &Retention::age>, range_of("history_age"),
     "content of what has ended is kept, of destinations with history = on"},
    {"engine", "history_bytes", kBytes, kEngine<&EngineOptions::history, &Retention::bytes>, range_of("history_bytes"),
     "and at most so many bytes of it; 0: no limit"},
    {"engine", "names_age", kDuration, kEngine<&EngineOptions::names, &Retention::age>, range_of("names_age"),
     "how long foreign ids are known; longer than any message lives"},
    {"engine", "halves_age", kDuration, kEngine<&EngineOptions::pending_news, &Retention::age>, range_of("halves_age"),
     "how long news waits for the id that it names"},
    {"engine", "halves_count", kNumber, kEngine<&EngineOptions::pending_news, &Retention::count>, range_of("halves_count"),
     "news that waits, at most; the oldest goes first"},
    {"engine", "arrivals_age", kDuration, kEngine<&EngineOptions::arrivals, &Retention::age>, range_of("arrivals_age"),
     "how long what arrived is kept as it came"},
    {"engine", "arrivals_bytes", kBytes, kEngine<&EngineOptions::arrivals, &Retention::bytes>, range_of("arrivals_bytes"),
     "and how much of it"},
    {"transport", "loops", kNumber, &at<&Config::transport_loops>, {0, 64},
     "further loops, each with a thread, for connections to destinations; 0: the one loop does all. "
     "Worth it where encryption or many destinations keep the one loop busy."},
    {"transport", "connections_max", kNumber, kTransport<&HttpTransportOptions::connections_max>, {1, 65'536},
     "connections to destinations at once"},
    {"transport", "idle_connections_max", kNumber, kTransport<&HttpTransportOptions::idle_connections_max>, {0, 65'536},
     "connections kept for the next attempt"},
    {"transport", "idle_per_host_max", kNumber, kTransport<&HttpTransportOptions::idle_per_host_max>, {0, 1024},
     "of them, to one host"},
    {"transport", "waiting_max", kNumber, kTransport<&HttpTransportOptions::waiting_max>, {1, kMillion},
     "attempts that wait for a connection; more are held back at once"},
    {"transport", "held_back_after", kDuration, kTransport<&HttpTransportOptions::held_back_after>, {100, kMinute},
     "an attempt that waited so long, or a quarter of its own time, for a connection or for a name to be asked is held "
     "back: it is made again soon, and its destination is not struck"},
    {"transport", "unused_hosts_max", kNumber, kTransport<&HttpTransportOptions::unused_hosts_max>, {0, kMillion},
     "hosts without a connection, remembered for their TLS sessions"},
    {"transport", "idle_time_out", kDuration, kTransport<&HttpTransportOptions::idle_time_out>, {100, kHour},
     "a kept connection is closed after it"},
    {"transport", "connection_life_max", kDuration, kTransport<&HttpTransportOptions::connection_life_max>, {kSecond, kDay},
     "a connection is not used again after it, because addresses change"},
    {"transport", "connect_time_out", kDuration, kTransport<&HttpTransportOptions::connect_time_out>, {100, 5 * kMinute},
     "to connect to one address"},
    {"transport", "tls_time_out", kDuration, kTransport<&HttpTransportOptions::tls_time_out>, {100, 5 * kMinute},
     "to agree on TLS"},
    {"transport", "first_byte_time_out", kDuration, kTransport<&HttpTransportOptions::first_byte_time_out>, {100, kHour, true},
     "from the request to the first byte of the answer; 0: that of the whole exchange"},
    {"transport", "exchange_time_out_max", kDuration, kTransport<&HttpTransportOptions::exchange_time_out_max>, {kSecond, kDay},
     "of attempts whose destination names a longer one or none"},
    {"transport", "request_bytes_max", kBytes, kTransport<&HttpTransportOptions::request_bytes_max>, {kKiB, 64 * kMiB},
     "body of a request that is sent; a larger one is not"},
    {"transport", "reply_head_bytes_max", kBytes, kTransport<&HttpTransportOptions::reply_head_bytes_max>, {kKiB, kMiB},
     "status line and headers of an answer"},
    {"transport", "reply_bytes_max", kBytes, kTransport<&HttpTransportOptions::reply_bytes_max>, {kKiB, 64 * kMiB},
     "of an answer, read before the connection is given up"},
    {"transport", "excerpt_bytes_max", kBytes, kTransport<&HttpTransportOptions::excerpt_bytes_max>, {0, 64 * kKiB},
     "of an answer, seen by the profile"},
    {"transport", "interim_replies_max", kNumber, kTransport<&HttpTransportOptions::interim_replies_max>, {0, 1024},
     "answers 1xx before the real one"},
    {"transport", "allow", kTexts, kTransport<&HttpTransportOptions::allow>, kAnyList,
     "private ranges that destinations may be in, as \"10.0.0.0/8\"; all others are refused"},
    {"transport", "name_servers", kTexts, kTransport<&HttpTransportOptions::name_servers>, {0, 8},
     "name servers as \"192.0.2.1:53\"; none: the system's"},
    {"transport", "names_max", kNumber, kTransport<&HttpTransportOptions::names_max>, {1, kMillion},
     "names whose addresses are remembered"},
    {"transport", "names_asking_max", kNumber, kTransport<&HttpTransportOptions::names_asking_max>, {1, 65'536},
     "names asked for at once; more wait"},
    {"transport", "addresses_max", kNumber, kTransport<&HttpTransportOptions::addresses_max>, {1, 256},
     "addresses of one name that are tried"},
    {"transport", "name_time_out", kDuration, kTransport<&HttpTransportOptions::name_time_out>, {100, kMinute},
     "of one question to one name server"},
    {"transport", "name_asks_max", kNumber, kTransport<&HttpTransportOptions::name_asks_max>, {1, 10},
     "questions to each name server"},
    {"transport", "name_ttl_max", kDuration, kTransport<&HttpTransportOptions::name_ttl_max>, {0, kDay},
     "an address is not remembered longer, whatever its TTL"},
    {"transport", "name_negative_ttl", kDuration, kTransport<&HttpTransportOptions::name_negative_ttl>, {0, kHour},
     "that there is no such name is remembered so long"},
    {"transport", "name_patience", kDuration, kTransport<&HttpTransportOptions::name_patience>, {100, kMinute},
     "a question without an answer for so long leaves its place to another name"},
    {"transport", "name_stale_max", kDuration, kTransport<&HttpTransportOptions::name_stale_max>, {0, kDay},
     "an address is used so long beyond its TTL while its renewal is not answered"},
    {"transport", "name_silence_min", kDuration, kTransport<&HttpTransportOptions::name_silence_min>, {100, kHour},
     "that a name got no answer is remembered so long; it doubles"},
    {"transport", "name_silence_max", kDuration, kTransport<&HttpTransportOptions::name_silence_max>, {100, kHour},
     "up to this"},
    {"transport", "trust_file", kText, kTransport<&HttpTransportOptions::trust_file>, kAnyText,
     "PEM file with the authorities we trust; empty: the system's"},

    {"grpc", "connections_max", kNumber, kGrpc<&GrpcTransportOptions::connections_max>, {1, 65'536},
     "connections at once; one for each server"},
    {"grpc", "streams_max", kNumber, kGrpc<&GrpcTransportOptions::streams_max>, {1, 10'000},
     "calls under way on one connection; the server may allow fewer"},
    {"grpc", "calls_per_connection_max", kNumber, kGrpc<&GrpcTransportOptions::calls_per_connection_max>, {1, 1000 * kMillion},
     "calls on one connection before it is replaced"},
    {"grpc", "idle_time_out", kDuration, kGrpc<&GrpcTransportOptions::idle_time_out>, {kSecond, kDay},
     "a connection without calls is closed after it"},
    {"grpc", "ping_after", kDuration, kGrpc<&GrpcTransportOptions::ping_after>, {0, kDay},
     "of silence: before the next call the server must prove that it is there"},
    {"grpc", "ping_time_out", kDuration, kGrpc<&GrpcTransportOptions::ping_time_out>, {100, 5 * kMinute},
     "in which it must"},
    {"grpc", "greeting_time_out", kDuration, kGrpc<&GrpcTransportOptions::greeting_time_out>, {100, 5 * kMinute},
     "until the server has said that it speaks HTTP/2"},
    {"grpc", "request_bytes_max", kBytes, kGrpc<&GrpcTransportOptions::request_bytes_max>, {kKiB, 64 * kMiB},
     "message of a call"},
    {"grpc", "reply_bytes_max", kBytes, kGrpc<&GrpcTransportOptions::reply_bytes_max>, {kKiB, 64 * kMiB},
     "message of an answer"},
    {"grpc", "message_bytes_max", kBytes, kGrpc<&GrpcTransportOptions::message_bytes_max>, {0, 64 * kKiB},
     "text of a status, seen by the profile"},

    {"metrics", "destinations_max", kNumber, kApi<&HttpApiOptions::metrics_destinations_max>, {0, 10'000},
     "destinations with gauges of their own, the deepest; the others are summed as \"(other)\""},

    {"door", "waiting_max", kNumber, kHost<&HostOptions::waiting_max>, {1, kMillion},
     "requests that wait for the engine, of all tenants"},
    {"door", "tenant_waiting_max", kNumber, kHost<&HostOptions::tenant_waiting_max>, {1, kMillion},
     "requests that wait, of one tenant; more are answered with 429"},
    {"door", "tenant_awaiting_max", kNumber, kHost<&HostOptions::tenant_awaiting_max>, {0, kMillion},
     "callers of one tenant that wait for the end of a message or at a mailbox"},
    {"door", "restart_pause", kDuration, kHost<&HostOptions::restart_pause>, {10, kMinute},
     "between two attempts to take the store again"},
    {"door", "event_queue_max", kNumber, kShard<&ShardOptions::event_queue_max>, range_of("event_queue_max"),
     "events that wait for a turn"},
    {"door", "parked_max", kNumber, kShard<&ShardOptions::parked_max>, range_of("parked_max"),
     "events that wait for a read"},
    {"door", "turn_events_max", kNumber, kShard<&ShardOptions::turn_events_max>, range_of("turn_events_max"),
     "events of one commit"},
    {"door", "turn_bytes_max", kBytes, kShard<&ShardOptions::turn_bytes_max>, range_of("turn_bytes_max"),
     "bytes of one commit"},

    {"stations", "lines_max", kNumber, kStations<&StationLimits::lines, &LineLimits::lines_max>, {1, 65'536},
     "connections, listeners and datagram sockets of all stations; the next one is refused"},
    {"stations", "unsent_bytes_max", kBytes, kStations<&StationLimits::lines, &LineLimits::unsent_bytes_max>, {kKiB, kGiB},
     "of one line, that its far side does not take; beyond it the line ends"},
    {"stations", "datagram_bytes_max", kBytes, kStations<&StationLimits::lines, &LineLimits::datagram_bytes_max>, {512, 65'507},
     "of one datagram; a larger one is lost"},
    {"stations", "posts_max", kNumber, kStations<&StationLimits::posts_max>, {1, kMillion},
     "of one station that wait for their answer; the next one is told busy"},
    {"stations", "exchanges_max", kNumber, kStations<&StationLimits::exchanges_max>, {1, kMillion},
     "of one station by a transport; the next one is held back"},
    {"stations", "wants_max", kNumber, kStations<&StationLimits::wants_max>, {16, kMillion},
     "of one call of a station; beyond it nothing is carried out but ends"},

    {"log", "level", kWord, &at<&Config::log, &LogConfig::level>, {},
     "the least important lines that are written", kLevels},
    {"log", "format", kWord, &at<&Config::log, &LogConfig::format>, {},
     "of a line on the standard error", kFormats},

    {"drain", "time_out", kDuration, &at<&Config::drain_time_out>, {0, kHour},
     "after SIGTERM, attempts under way may take so long to end"},
});
// clang-format on

}  // namespace

std::vector<ConfigSection> config_sections(ConfigParts parts) {
  std::vector<ConfigSection> all(kSections.begin(), kSections.end());
  for (const ConfigPart* part : parts)
    all.insert(all.end(), part->sections.begin(), part->sections.end());
  return all;
}

std::vector<ConfigRow> config_rows(ConfigParts parts) {
  std::vector<ConfigRow> all(kRows.begin(), kRows.end());
  for (const ConfigPart* part : parts) all.insert(all.end(), part->rows.begin(), part->rows.end());
  return all;
}

}  // namespace postrider
