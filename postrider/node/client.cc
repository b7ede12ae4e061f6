#include "postrider/include/postrider/client.h"

#include <optional>
#include <utility>

#include "postrider/api/texts.h"
#include "postrider/base/check.h"
#include "postrider/node/postrider.h"

namespace postrider {
namespace {

constexpr LogPosition kBehindEverything{UINT32_MAX, UINT64_MAX, 0};

WallTime wall_time(Timestamp at) { return WallTime(std::chrono::milliseconds(at.ms())); }

Timestamp after(Timestamp now, std::chrono::milliseconds wait) {
  return wait.count() > 0 ? now + Duration(wait.count()) : Timestamp();
}

// An answer that is not the one hoped for, as an Error.
tl::unexpected<Error> error_of(const Answer& answer) {
  ErrorCode code = ErrorCode::kInvalid;
  switch (answer.code) {
    case AnswerCode::kConflict:
    case AnswerCode::kKeyExpired:
    case AnswerCode::kMayHaveRun:
    case AnswerCode::kChanged: code = ErrorCode::kConflict; break;
    case AnswerCode::kNotFound: code = ErrorCode::kNotFound; break;
    case AnswerCode::kTooLarge:
    case AnswerCode::kFull:
    case AnswerCode::kNoRoom:
    case AnswerCode::kBusy: code = ErrorCode::kLimit; break;
    case AnswerCode::kUnavailable: code = ErrorCode::kUnavailable; break;
    case AnswerCode::kAccepted:
    case AnswerCode::kDone:
    case AnswerCode::kNothing:
    case AnswerCode::kPending:
    case AnswerCode::kDisabled:
    case AnswerCode::kEnded:
    case AnswerCode::kInvalid:
    case AnswerCode::kNotEmpty: break;
  }
  std::string detail = answer.detail.empty() ? std::string(name_of(answer.code)) : answer.detail;
  return fail(code, std::move(detail));
}

NodeOptions node_options(const LibraryOptions& options) {
  NodeOptions node;
  node.store.directory = options.directory;
  node.free_bytes_min = options.free_bytes_min;
  node.transport.allow = options.allow;
  return node;
}

}  // namespace

class Client::Impl {
 public:
  Impl(std::unique_ptr<Postrider> rider, std::chrono::milliseconds patience)
      : rider_(std::move(rider)), patience_(patience) {}

  Postrider& rider() { return *rider_; }
  Duration patience() const { return Duration(patience_.count()); }

  Result<MessageId> id_of(std::string_view text) const {
    const std::optional<MessageId> id = rider_->parse_id(text);
    if (!id) return fail(ErrorCode::kInvalid, "this is no id of a message of this store");
    return *id;
  }

 private:
  std::unique_ptr<Postrider> rider_;
  std::chrono::milliseconds patience_;
};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() { static_cast<void>(close()); }

Result<std::unique_ptr<Client>> Client::open(const LibraryOptions& options) {
  POSTRIDER_TRY(rider, Postrider::open(node_options(options)));
  return std::unique_ptr<Client>(
      new Client(std::make_unique<Impl>(std::move(rider), options.patience)));
}

Result<void> Client::put(const Address& address) {
  Configure configure;
  configure.config.name = address.name;
  configure.config.profile = address.profile;
  configure.config.settings.assign(address.settings.begin(), address.settings.end());
  const Answer answer = impl_->rider().call(std::move(configure));
  if (answer.code != AnswerCode::kDone && answer.code != AnswerCode::kNothing)
    return error_of(answer);
  return {};
}

Result<Submitted> Client::submit(const Outgoing& message) {
  Submit submit;
  submit.destination = message.destination;
  submit.lane = message.lane;
  submit.priority = message.priority;
  const Timestamp wall = impl_->rider().wall();
  submit.not_before = after(wall, message.delay);
  submit.expires = after(wall, message.expires_in);
  const NamedTexts attributes(message.attributes.begin(), message.attributes.end());
  if (!attributes.empty()) submit.attributes = encode_texts(attributes);
  submit.body = message.body;
  if (!message.key.empty()) {
    submit.caller.key.kind = OperationKey::Kind::kOpaque;
    submit.caller.key.key = message.key;
    // "In 5 s" is the same wish when it is repeated a second later.
    NamedTexts said = attributes;
    said.emplace_back("destination", message.destination);
    said.emplace_back("body", message.body);
    said.emplace_back("lane", std::to_string(message.lane));
    said.emplace_back("priority", std::to_string(message.priority));
    said.emplace_back("delay", std::to_string(message.delay.count()));
    said.emplace_back("expires_in", std::to_string(message.expires_in.count()));
    submit.caller.said = encode_texts(said);
  }
  const Answer answer = impl_->rider().call(std::move(submit));
  if (answer.code != AnswerCode::kAccepted) return error_of(answer);
  return Submitted{.id = impl_->rider().shown(answer.id), .repeated = answer.replayed};
}

Result<Standing> Client::explain(std::string_view id) {
  POSTRIDER_TRY(message, impl_->id_of(id));
  Query query;
  query.what = Query::What::kExplain;
  query.id = message;
  const Answer answer = impl_->rider().call(std::move(query));
  const auto* found = std::get_if<Explanation>(&answer.view);
  if (found == nullptr) return error_of(answer);
  return Standing{.id = std::string(id),
                  .destination = found->destination,
                  .phase = std::string(name_of(found->phase)),
                  .state = found->state,
                  .why = found->why,
                  .reason = found->reason,
                  .attempts = found->attempts,
                  .ended = is_end(found->phase),
                  .accepted = wall_time(found->accepted),
                  .next_at = wall_time(found->next_at)};
}

Result<Cancelled> Client::cancel(std::string_view id) {
  POSTRIDER_TRY(message, impl_->id_of(id));
  Cancel cancel;
  cancel.id = message;
  const Answer answer = impl_->rider().call(std::move(cancel));
  if (answer.code == AnswerCode::kDone) return Cancelled::kNow;
  if (answer.code == AnswerCode::kPending) return Cancelled::kPending;
  if (answer.code == AnswerCode::kEnded || answer.code == AnswerCode::kNothing)
    return Cancelled::kTooLate;
  return error_of(answer);
}

Result<Mail> Client::read(const std::string& mailbox, std::string_view cursor,
                          std::uint32_t limit) {
  Query query;
  query.what = Query::What::kReadMailbox;
  query.destination = mailbox;
  query.limit = limit;
  if (!cursor.empty()) {
    POSTRIDER_TRY(last, impl_->id_of(cursor));
    query.id = last;
  }
  const Answer answer = impl_->rider().call(std::move(query));
  const auto* page = std::get_if<MailboxPage>(&answer.view);
  if (page == nullptr) return error_of(answer);
  Mail out{.messages = {}, .cursor = std::string(cursor), .more = page->more};
  for (const MailboxPage::Item& item : page->items) {
    Incoming message{.id = impl_->rider().shown(item.id),
                     .body = item.body,
                     .attributes = {},
                     .accepted = wall_time(item.accepted)};
    if (const auto texts = decode_texts(item.attributes))
      message.attributes.assign(texts->begin(), texts->end());
    out.cursor = message.id;
    out.messages.push_back(std::move(message));
  }
  return out;
}

Result<std::uint32_t> Client::confirm(const std::string& mailbox,
                                      const std::vector<std::string>& ids) {
  Confirm confirm;
  confirm.destination = mailbox;
  for (const std::string& id : ids) {
    POSTRIDER_TRY(message, impl_->id_of(id));
    confirm.ids.push_back(message);
  }
  const Answer answer = impl_->rider().call(std::move(confirm));
  const auto* confirmed = std::get_if<Confirmed>(&answer.view);
  if (confirmed == nullptr) return error_of(answer);
  return confirmed->confirmed;
}

Result<void> Client::on_end(std::function<void(const Ended&)> told, std::string_view position) {
  Postrider& rider = impl_->rider();
  LogPosition from = kBehindEverything;
  if (position.empty()) {
    // The place is known before this returns, so that the end of whatever is submitted next is
    // told.
    Query query;
    query.what = Query::What::kLog;
    query.from = from;
    query.limit = 1;
    const Answer answer = rider.call(std::move(query));
    const auto* page = std::get_if<LogPage>(&answer.view);
    if (page == nullptr) return error_of(answer);
    from = page->next;
  } else {
    const auto given = api::parse_position(position);
    if (!given) return fail(ErrorCode::kInvalid, "this is no position of an end");
    from = *given;
  }
  rider.follow(from, [&rider, told = std::move(told)](const LogEntry& entry) {
    if (entry.kind != LogEntry::Kind::kEnd) return;
    LogPosition next = entry.position;
    ++next.index;
    told({.id = rider.shown(entry.id),
          .phase = std::string(name_of(entry.phase)),
          .reason = entry.reason,
          .attempts = entry.attempts,
          .at = wall_time(entry.at),
          .position = api::to_text(next)});
  });
  return {};
}

Result<void> Client::close() { return impl_->rider().close(impl_->patience()); }
Postrider& Client::low_door() { return impl_->rider(); }

}  // namespace postrider
