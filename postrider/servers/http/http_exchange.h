// HttpSlotExchange: what the handler holds of a slot. It may outlive connection and server. For
// http_connection.cc only.
#pragma once

#include <functional>
#include <utility>

#include "postrider/servers/http/http_connection.h"

namespace postrider {

class HttpSlotExchange final : public HttpExchange {
 public:
  explicit HttpSlotExchange(HttpSlot& slot) : slot_(&slot) { slot.exchange = this; }
  ~HttpSlotExchange() override {
    if (slot_ == nullptr) return;
    slot_->exchange = nullptr;
    slot_->connection->dropped(*slot_);
  }
  HttpSlotExchange(const HttpSlotExchange&) = delete;
  HttpSlotExchange& operator=(const HttpSlotExchange&) = delete;

  void respond(HttpResponse response) override {
    if (slot_ != nullptr) slot_->connection->respond(*slot_, response);
  }
  void begin(HttpResponse head) override {
    if (slot_ != nullptr) slot_->connection->begin(*slot_, head);
  }
  bool write(std::string_view piece) override {
    return slot_ != nullptr && slot_->connection->write(*slot_, piece);
  }
  void end() override {
    if (slot_ != nullptr) slot_->connection->end(*slot_);
  }
  bool gone() const override { return slot_ == nullptr; }
  bool parted() const override { return slot_ == nullptr || slot_->connection->parted(); }
  std::size_t unsent() const override {
    return slot_ == nullptr ? 0 : slot_->connection->unsent(*slot_);
  }
  void when_room(std::function<void()> call) override {
    if (slot_ != nullptr) slot_->connection->when_room(*slot_, std::move(call));
  }
  bool has_room(std::size_t bytes) const override {
    return slot_ == nullptr || slot_->connection->has_room(bytes);
  }
  void keep(std::size_t bytes) override {
    if (slot_ != nullptr) slot_->connection->keep_for(*slot_, bytes);
  }
  void pause() override {
    if (slot_ != nullptr) slot_->connection->pause(*slot_);
  }
  void resume() override {
    if (slot_ != nullptr) slot_->connection->resume(*slot_);
  }

  void forget() { slot_ = nullptr; }

 private:
  HttpSlot* slot_;
};

}  // namespace postrider
