// LinkStation: a request and its proof, over streams and datagrams. A frame is
//   size(2) ‖ kind(1) ‖ id(32) ‖ nonce(32) ‖ body
// with the size of what follows it; a datagram is one frame. A request is proven when what it
// carries is durable here, and not before; a request that is not proven comes again. When the
// application here has confirmed it, that is told too, unless the line is gone.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/model/seams/station.h"
#include "postrider/model/secrets.h"

namespace postrider::sim {

enum class LinkKind : std::uint8_t { kRequest = 1, kProof = 2, kDone = 3 };
struct LinkFrame {
  LinkKind kind = LinkKind::kRequest;
  std::string_view id;     // 32 hexadecimal digits
  std::string_view nonce;  // 32 bytes
  std::string_view body;
};
inline constexpr std::size_t kLinkFrameBytesMax = 60'000;
inline constexpr std::size_t kLinkHeadBytes = 67;  // with the size

std::string encode_link_frame(const LinkFrame& frame);
struct LinkTaken {
  enum class How : std::uint8_t { kFrame, kMore, kNonsense };
  How how = How::kMore;
  LinkFrame frame;
  std::size_t bytes = 0;  // of kFrame
};
// The first frame of these bytes, which may come from anyone.
LinkTaken take_link_frame(std::string_view bytes);

// Mistakes that its worlds must notice. They are a setting, because no product has this station.
enum class LinkBug : std::uint8_t {
  kNone,
  kProofBeforeCommit,
  kWakeUpLostWithEpoch,
  kTokenUsedTwice,
  kEntropyRepeated,  // by the machine: each process draws what the first one drew
  kLineUsedAfterEnd,
  kCardInAnotherCommit,
  kAwaitLostWithEpoch,
};

// Where a machine is, and where others are. Without an address it is a machine of a simulated
// world.
struct LinkSetup {
  std::string machine;
  std::string stream_listen = {};    // address of the listener
  std::string datagram_listen = {};  // address of the datagram line
  std::string tls = {};              // the secret for all lines; empty: none
  std::string peer_key = {};         // that every far side must show
  std::map<std::string, std::string, std::less<>> streams = {};    // by machine
  std::map<std::string, std::string, std::less<>> datagrams = {};  // by machine
};
// Settings: "machine", "listen", "listen_datagrams", "tls", "peer_key" in hexadecimal digits,
// "stream.NAME" and "datagrams.NAME" for each other machine.
Result<std::unique_ptr<Station>> make_link_station(const NamedTexts& settings,
                                                   const Secrets& secrets);

class LinkStation final : public Station {
 public:
  LinkStation(LinkSetup setup, LinkBug bug) : setup_(std::move(setup)), bug_(bug) {}

  std::string_view verb() const override;
  void on(const StationNow& now, const station::Happened& happened,
          std::vector<station::Wanted>& wanted) override;
  std::optional<Timestamp> next_deadline() const override;
  void tell(StationFigures& figures) const override;

 private:
  using Wants = std::vector<station::Wanted>;
  struct Send {  // an attempt that is not over
    AttemptId attempt;
    std::string machine;
    std::string body;
    bool datagrams = false;
    bool until_done = false;
    bool sent = false;
    Timestamp again;  // when a datagram is sent once more
  };
  struct Line {
    std::string machine;  // that we called; empty: it called us, or a datagram line
    std::string in;       // bytes that are no frame yet
    bool open = false;
    Timestamp heard;  // or since when we wait
  };
  struct Asked {  // a request that waits for its commit
    std::string id;
    LineId line;
    std::string from;  // of datagrams
  };

  void begin(const StationNow& now, Wants& wanted);
  void listen(Wants& wanted);
  void started(const StationNow& now, const station::Started& started, Wants& wanted);
  void took(const StationNow& now, const station::LineTook& took, Wants& wanted);
  void take_frame(const StationNow& now, LineId line, std::string_view from, const LinkFrame& frame,
                  Wants& wanted);
  void told(const StationNow& now, const station::Told& told, Wants& wanted);
  void await(const Asked& asked, MessageId message, Wants& wanted);
  void answer(const StationNow& now, LinkKind kind, const Asked& asked, Wants& wanted);
  void closed(LineId line, Wants& wanted);
  void deadline(const StationNow& now, Wants& wanted);
  void send(const StationNow& now, LineId line, const std::string& id, Send& send, Wants& wanted);
  void send_datagram(const StationNow& now, const std::string& id, Send& send, Wants& wanted);
  void end(const std::string& id, WireReply reply, Wants& wanted);
  void hang_up(LineId line, Wants& wanted);
  LineId line_to(const StationNow& now, const std::string& machine, Wants& wanted);
  std::string nonce(const StationNow& now) const;
  Token next_token() { return Token(++last_token_); }

  std::string stream_address(const std::string& machine) const;
  std::string datagram_address(const std::string& machine) const;

  const LinkSetup setup_;
  const LinkBug bug_;
  LineId stream_listener_;
  LineId datagram_line_;
  std::uint64_t last_line_ = 0;
  std::uint64_t last_token_ = 0;
  std::map<std::string, Send> sends_;  // by id
  std::map<std::uint64_t, Line> lines_;
  std::map<std::uint64_t, Asked> asked_;  // by token
  std::set<std::string> asked_ids_;       // of these
  struct Awaited {                        // a request that the application has not confirmed yet
    Asked asked;
    MessageId message;
  };
  std::map<std::uint64_t, Awaited> awaited_;  // by token
  std::set<std::string> awaited_ids_;         // of these
  std::uint64_t proofs_ = 0;
  std::uint64_t late_proofs_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t dones_ = 0;
  std::uint64_t counted_ = 0;  // arrivals, as the cards said when the epoch began
  // Messages whose attempt was given up: a proof may still come. The oldest are forgotten.
  std::map<std::string, MessageId> given_up_;
  std::deque<std::string> given_up_order_;
  std::map<std::string, MessageId> messages_;  // of sends_
};

}  // namespace postrider::sim
