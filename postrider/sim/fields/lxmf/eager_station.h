// EagerStation: a station that is told of a commit before it is one, as a planted bug. It stands
// around another one; what is posted under a kind of arrival is answered at once.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/model/seams/station.h"

namespace postrider::sim {

class EagerStation final : public Station {
 public:
  EagerStation(std::unique_ptr<Station> inner, std::string kind, std::string reply)
      : inner_(std::move(inner)), kind_(std::move(kind)), reply_(std::move(reply)) {}

  std::string_view verb() const override { return inner_->verb(); }
  void on(const StationNow& now, const station::Happened& happened,
          std::vector<station::Wanted>& wanted) override {
    if (const auto* told = std::get_if<station::Told>(&happened)) {
      if (told_.erase(told->token.value()) > 0) return;
    }
    if (std::holds_alternative<station::NewEpoch>(happened)) told_.clear();
    inner_->on(now, happened, wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto* post = std::get_if<station::Post>(&wanted[i]);
      const auto* arrived = post != nullptr ? std::get_if<Arrived>(&post->event) : nullptr;
      if (arrived == nullptr || arrived->source.kind != kind_) continue;
      const Token token = post->token;
      if (!told_.insert(token.value()).second) continue;
      Answer answer;
      answer.code = AnswerCode::kDone;
      answer.reply = reply_;
      inner_->on(now, station::Told{token, std::move(answer)}, wanted);
    }
  }
  std::optional<Timestamp> next_deadline() const override { return inner_->next_deadline(); }
  void tell(StationFigures& figures) const override { inner_->tell(figures); }

 private:
  std::unique_ptr<Station> inner_;
  const std::string kind_;
  const std::string reply_;
  std::set<std::uint64_t> told_;  // tokens whose true answer is still to come
};

}  // namespace postrider::sim
