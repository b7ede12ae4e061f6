// Our own propagation node: it keeps what is sealed for others in a mailbox for each recipient, and
// gives it to whom it is for.
#include <algorithm>

#include "postrider/profiles/lxmf/station.h"
#include "postrider/profiles/lxmf/work.h"

namespace postrider::lxmf {
namespace {

constexpr std::uint32_t kKeptOfPage = 100;
constexpr std::size_t kMeasuredMax = 512;
constexpr std::size_t kGetsMax = 256;

template <class Range>
bool holds(const Range& range, const Digest& id) {
  return range && std::find(range->begin(), range->end(), id) != range->end();
}

}  // namespace

void LxmfStation::take_upload(std::string_view plain, Arrival arrival, Call& call) {
  arrival.is_upload = true;
  const auto item = decode_upload(plain);
  const std::uint64_t most = std::uint64_t{setup_.node->message_kb_max} * 1'000;
  if (!item || item->sealed.size() > most || measured_.size() >= kMeasuredMax) {
    ++counts_.uploads_refused;
    return drop(arrival, true, call);
  }
  const Digest transient = transient_id(item->sealed);
  const Token token = next_token();
  const Blob input = Blob::copy_of(
      encode_measure(reticulum::view(transient), kPropagationRounds, item->stamp));
  WireRequest request;
  request.verb = kWorkVerb;
  request.target = kMeasureWork;
  request.owner = input;
  request.body = input.view();
  measured_[token.value()] = {std::move(arrival), std::string(item->sealed)};
  call.wanted.emplace_back(station::Exchange{token, std::move(request)});
}

void LxmfStation::upload_measured(Measured& measured, std::uint32_t value, Call& call) {
  const std::uint32_t wanted = setup_.node->cost;
  const std::uint32_t slack = setup_.node->flexibility;
  if (value + slack < wanted) return refuse_upload(measured.arrival, call);
  Arrived event = this->arrival(kArrivedUpload, std::move(measured.packed));
  const Token token = next_token();
  arrivals_[token.value()] = std::move(measured.arrival);
  call.wanted.emplace_back(station::Post{token, std::move(event)});
}

// Said before anything is proven: a sender that gets no proof knows that nothing is kept.
void LxmfStation::refuse_upload(const Arrival& arrival, Call& call) {
  ++counts_.uploads_refused;
  const Address link = arrival.link;
  const auto talk = talks_.find(link);
  if (talk == talks_.end()) return;
  reticulum::LinkOutput out;
  Conversation& conversation = *talk->second.conversation;
  conversation.send_word(encode_word(kWordBadStamp), call.boot, call.random, out);
  if (arrival.by == Arrival::By::kResource)
    conversation.refuse_resource(arrival.digest, call.boot, call.random, out);
  conversation.close(reticulum::LinkEnd::kByUs, call.random, out);
  leave(link, out, call);
}

void LxmfStation::take_get(const Address& link, const reticulum::RequestArrived& request,
                           Call& call) {
  const auto talk = talks_.find(link);
  if (talk == talks_.end() || talk->second.opener || !own_[talk->second.own].is_node ||
      request.path != reticulum::request_path(kGetPath) || gets_.size() >= kGetsMax)
    return;
  if (!talk->second.peer)
    return respond(link, request.request, encode_answer_error(kAnswerNoIdentity), call);
  auto wants = decode_get(request.data);
  if (!wants) return;
  Get get;
  get.link = link;
  get.request = request.request;
  get.recipient = *talk->second.peer;
  get.wants = std::move(*wants);
  ++counts_.gets;
  read_kept(std::move(get), {}, call);
}

void LxmfStation::read_kept(Get get, MessageId after, Call& call) {
  Query query;
  query.what = Query::What::kReadMailbox;
  query.destination = kept_for(get.recipient);
  query.id = after;
  query.limit = kKeptOfPage;
  const Token token = next_token();
  gets_[token.value()] = std::move(get);
  call.wanted.emplace_back(station::Post{token, std::move(query)});
}

// A mailbox that is not there yet is an empty one. What is to be removed is removed before the
// answer, which tells that it was.
void LxmfStation::kept_read(Get get, const Answer& answer, Call& call) {
  const auto* page = std::get_if<MailboxPage>(&answer.view);
  if (page == nullptr) return answer_get(get, call);
  const double most = std::min(get.wants.limit_kb.value_or(setup_.node->sync_kb_max),
                               static_cast<double>(setup_.node->sync_kb_max));
  for (const MailboxPage::Item& item : page->items) {
    const Digest id = transient_id(item.body);
    if (holds(get.wants.removed, id)) {
      get.removed.push_back(item.id);
    } else if (!get.wants.wanted && !get.wants.removed) {
      get.listed.emplace_back(item.body.size(), id);
    } else if (holds(get.wants.wanted, id) &&
               static_cast<double>(get.given_bytes + item.body.size()) <= most * 1'000) {
      get.given_bytes += item.body.size();
      get.given.push_back(item.body);
    }
  }
  if (page->more && !page->items.empty())
    return read_kept(std::move(get), page->items.back().id, call);
  if (get.removed.empty()) return answer_get(get, call);
  Confirm confirm;
  confirm.destination = kept_for(get.recipient);
  confirm.ids = std::exchange(get.removed, {});
  const Token token = next_token();
  gets_[token.value()] = std::move(get);
  call.wanted.emplace_back(station::Post{token, std::move(confirm)});
}

void LxmfStation::answer_get(const Get& get, Call& call) {
  std::vector<std::string_view> items(get.given.begin(), get.given.end());
  auto listed = get.listed;
  std::sort(listed.begin(), listed.end());  // the smallest one first
  for (const auto& [bytes, id] : listed) items.push_back(reticulum::view(id));
  respond(get.link, get.request, encode_answer(items), call);
}

void LxmfStation::respond(const Address& link, const Address& request, const std::string& value,
                          Call& call) {
  const auto talk = talks_.find(link);
  if (talk == talks_.end()) return;
  const Address id = link;
  reticulum::LinkOutput out;
  talk->second.conversation->respond({.request = request, .value = value}, call.boot, call.random,
                                     out);
  leave(id, out, call);
}

}  // namespace postrider::lxmf
