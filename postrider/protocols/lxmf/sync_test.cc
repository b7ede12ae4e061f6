#include "postrider/protocols/lxmf/sync.h"

#include <map>

#include <gtest/gtest.h>

#include "postrider/protocols/hex_testing.h"

namespace postrider::lxmf {
namespace {

using What = SyncWant::What;

// A node with messages of some bytes each, which gives what fits into the limit.
class Node {
 public:
  void keep(const std::string& sealed) { kept_[transient_id(sealed)] = sealed; }
  std::string answer(std::string_view data) {
    const auto request = decode_get(data);
    EXPECT_TRUE(request);
    ++requests_;
    for (const Digest& id : request->removed.value_or(std::vector<Digest>())) kept_.erase(id);
    std::vector<std::string_view> items;
    if (request->wanted) {
      double left = request->limit_kb.value_or(1e9) * 1000;
      for (const Digest& id : *request->wanted) {
        const auto found = kept_.find(id);
        if (found == kept_.end() || left < static_cast<double>(found->second.size())) continue;
        left -= static_cast<double>(found->second.size());
        items.push_back(found->second);
      }
    } else if (!request->removed) {
      for (const auto& [id, sealed] : kept_) items.push_back(reticulum::view(id));
    }
    return encode_answer(items);
  }
  std::size_t size() const { return kept_.size(); }
  bool has(const std::string& sealed) const { return kept_.contains(transient_id(sealed)); }
  int requests() const { return requests_; }

 private:
  std::map<Digest, std::string> kept_;
  int requests_ = 0;
};

class SyncTest : public ::testing::Test {
 protected:
  // Until it is done, or before the request with that number.
  SyncEnd run(SyncSession& session, int requests_max = 1000) {
    SyncWant want = session.start();
    while (want.what != What::kDone) {
      switch (want.what) {
        case What::kRequest:
          if (requests_max-- == 0) return session.failed().end;
          want = session.answered(node_.answer(want.request));
          break;
        case What::kLook: {
          std::set<Digest> durable;
          for (const Digest& id : want.ids) {
            if (here_.contains(id)) durable.insert(id);
          }
          want = session.looked(durable);
          break;
        }
        case What::kStore: {
          std::vector<SyncFate> fates;
          for (std::size_t i = 0; i < want.ids.size(); ++i) {
            const bool opens = want.messages[i][0] != '!';
            if (opens) ++delivered_[want.messages[i]];
            if (opens) here_.insert(want.ids[i]);
            fates.push_back(opens ? SyncFate::kFresh : SyncFate::kUndecryptable);
          }
          want = session.stored(fates);
          break;
        }
        case What::kDone: break;
      }
    }
    return want.end;
  }

  Node node_;
  std::set<Digest> here_;
  std::map<std::string, int> delivered_;
};

// req: lxmf.sync.1
TEST_F(SyncTest, FetchesEverythingPageByPage) {
  for (int i = 0; i < 20; ++i) node_.keep(std::string(300, static_cast<char>('a' + i)));
  SyncSession session({.limit_kb = 1});
  EXPECT_EQ(run(session), SyncEnd::kComplete);
  EXPECT_EQ(session.counts().fresh, 20u);
  EXPECT_EQ(session.counts().known, 0u);
  EXPECT_EQ(delivered_.size(), 20u);
  EXPECT_EQ(node_.size(), 0u);
  EXPECT_EQ(node_.requests(), 1 + 7 * 2);  // a list, and three messages in each page
}

// req: lxmf.sync.1
TEST_F(SyncTest, EmptyNodeAndRefusalsEndAtOnce) {
  SyncSession session({});
  EXPECT_EQ(run(session), SyncEnd::kComplete);
  const auto end_of = [](const std::string& value) {
    SyncSession asked({});
    asked.start();
    return asked.answered(value).end;
  };
  EXPECT_EQ(end_of(encode_answer_error(kAnswerNoIdentity)), SyncEnd::kNoIdentity);
  EXPECT_EQ(end_of(encode_answer_error(kAnswerNoAccess)), SyncEnd::kNoAccess);
  EXPECT_EQ(end_of(encode_answer_error(0xFD)), SyncEnd::kTransferFailed);
  EXPECT_EQ(end_of("noise"), SyncEnd::kTransferFailed);
  EXPECT_EQ(end_of(encode_answer({"no id"})), SyncEnd::kTransferFailed);
  EXPECT_EQ(SyncSession({}).answered(encode_answer({})).end, SyncEnd::kTransferFailed);
  EXPECT_EQ(SyncSession({}).looked({}).end, SyncEnd::kTransferFailed);
  EXPECT_EQ(SyncSession({}).stored({}).end, SyncEnd::kTransferFailed);
}

// req: lxmf.sync.2
TEST_F(SyncTest, UndecryptableMessagesStayAtTheNode) {
  for (const char* text : {"one", "!two", "three"}) node_.keep(text);
  SyncSession session({});
  EXPECT_EQ(run(session), SyncEnd::kComplete);
  EXPECT_EQ(session.counts().fresh, 2u);
  EXPECT_EQ(session.counts().undecryptable, 1u);
  EXPECT_EQ(node_.size(), 1u);
  EXPECT_TRUE(node_.has("!two"));
}

// req: lxmf.sync.2
TEST_F(SyncTest, EndAtAnyRequestLosesNothingAndDeliversNothingTwice) {
  for (int requests = 0; requests < 12; ++requests) {
    node_ = {};
    here_.clear();
    delivered_.clear();
    for (int i = 0; i < 9; ++i)
      node_.keep((i == 4 ? "!" : "") + std::string(400, static_cast<char>('a' + i)));
    SyncSession cut({.limit_kb = 1});
    run(cut, requests);
    SyncSession again({.limit_kb = 1});
    EXPECT_EQ(run(again), SyncEnd::kComplete);
    EXPECT_EQ(delivered_.size(), 8u);
    for (const auto& [message, times] : delivered_) EXPECT_EQ(times, 1);
    EXPECT_EQ(node_.size(), 1u);
    EXPECT_LE(cut.counts().fresh + again.counts().fresh, 8u);
  }
}

// req: lxmf.sync.4
TEST_F(SyncTest, RetainLeavesEverythingAndFetchesNothingTwice) {
  for (int i = 0; i < 9; ++i) node_.keep(std::string(400, static_cast<char>('a' + i)));
  for (int round = 0; round < 3; ++round) {
    SyncSession session({.limit_kb = 1, .retain = true});
    EXPECT_EQ(run(session), SyncEnd::kComplete);
    EXPECT_EQ(session.counts().fresh, round == 0 ? 9u : 0u);
    EXPECT_EQ(session.counts().known, round == 0 ? 0u : 9u);
  }
  EXPECT_EQ(node_.size(), 9u);
  for (const auto& [message, times] : delivered_) EXPECT_EQ(times, 1);
}

TEST_F(SyncTest, NodeThatGivesNothingOrSomethingElseIsNotAskedForEver) {
  SyncSession session({});
  session.start();
  const Digest id{1};
  session.answered(encode_answer({reticulum::view(id)}));
  session.looked({});
  EXPECT_EQ(session.answered(encode_answer({})).what, What::kDone);
  session.start();
  session.answered(encode_answer({reticulum::view(id)}));
  session.looked({});
  EXPECT_EQ(session.answered(encode_answer({"unasked", "unasked"})).what, What::kDone);
  EXPECT_EQ(session.counts().unasked, 2u);
}

TEST_F(SyncTest, FatesMustFitWhatWasFetched) {
  node_.keep("one");
  SyncSession session({});
  SyncWant want = session.start();
  want = session.answered(node_.answer(want.request));
  want = session.looked({});
  want = session.answered(node_.answer(want.request));
  ASSERT_EQ(want.what, What::kStore);
  EXPECT_EQ(session.stored({}).end, SyncEnd::kTransferFailed);
  EXPECT_TRUE(node_.has("one"));
}

}  // namespace
}  // namespace postrider::lxmf
