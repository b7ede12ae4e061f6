#include "postrider/transports/http/peers_testing.h"

#include <arpa/inet.h>
#include <array>
#include <chrono>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "postrider/base/check.h"

namespace postrider {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio::ip::udp;

// Awaited values are named before they are used: g++ 12 makes wrong code of some conditions and
// arguments with co_await in them.
constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);
constexpr auto kPatience = std::chrono::seconds(20);

}  // namespace

struct Link::Stream {
  explicit Stream(tcp::socket socket) : plain(std::move(socket)) {}
  tcp::socket plain;
  std::unique_ptr<asio::ssl::stream<tcp::socket&>> tls;
};

Link::Link(tcp::socket socket, asio::ssl::context* tls)
    : stream_(std::make_unique<Stream>(std::move(socket))) {
  stream_->plain.set_option(tcp::no_delay(true));
  if (tls != nullptr)
    stream_->tls = std::make_unique<asio::ssl::stream<tcp::socket&>>(stream_->plain, *tls);
}
Link::~Link() = default;

asio::awaitable<bool> Link::handshake() {
  if (stream_->tls == nullptr) co_return true;
  const auto [error] =
      co_await stream_->tls->async_handshake(asio::ssl::stream_base::server, kQuietly);
  resumed = SSL_session_reused(stream_->tls->native_handle()) == 1;
  co_return !error;
}

asio::awaitable<bool> Link::fill() {
  std::array<char, 16384> bytes{};
  boost::system::error_code error;
  std::size_t count = 0;
  if (stream_->tls != nullptr) {
    std::tie(error, count) = co_await stream_->tls->async_read_some(asio::buffer(bytes), kQuietly);
  } else {
    std::tie(error, count) = co_await stream_->plain.async_read_some(asio::buffer(bytes), kQuietly);
  }
  in_.append(bytes.data(), count);
  co_return !error;
}

asio::awaitable<std::string> Link::some(std::size_t bytes) {
  bool more = true;
  while (more && in_.size() < bytes) more = co_await fill();
  std::string out = std::exchange(in_, {});
  co_return out;
}

asio::awaitable<std::string> Link::request() {
  bool more = true;
  while (more && in_.find("\r\n\r\n") == std::string::npos) more = co_await fill();
  if (!more) co_return std::string();
  const std::size_t head = in_.find("\r\n\r\n") + 4;
  std::size_t body = 0;
  const std::size_t at = in_.find("content-length: ");
  if (at < head) body = std::stoul(in_.substr(at + 16));
  while (more && in_.size() < head + body) more = co_await fill();
  if (!more) co_return std::string();
  std::string out = in_.substr(0, head + body);
  in_.erase(0, head + body);
  co_return out;
}

Task Link::write(std::string bytes) {
  if (stream_->tls != nullptr) {
    co_await asio::async_write(*stream_->tls, asio::buffer(bytes), kQuietly);
  } else {
    co_await asio::async_write(stream_->plain, asio::buffer(bytes), kQuietly);
  }
}

Task Link::gone() {
  for (bool more = true; more; in_.clear()) more = co_await fill();
}

Task Link::forever() {
  asio::steady_timer timer(stream_->plain.get_executor(), asio::steady_timer::time_point::max());
  co_await timer.async_wait(kQuietly);
}

Task Link::until(std::function<bool()> so) {
  asio::steady_timer timer(stream_->plain.get_executor());
  while (!so()) {
    timer.expires_after(std::chrono::milliseconds(1));
    co_await timer.async_wait(kQuietly);
  }
}

void Link::close() {
  boost::system::error_code error;
  stream_->plain.shutdown(tcp::socket::shutdown_send, error);
}

void Link::reset() {
  boost::system::error_code error;
  stream_->plain.set_option(asio::socket_base::linger(true, 0), error);
  stream_->plain.close(error);
}

Peer::Peer(asio::io_context& loop, Script script, const std::string& address,
           asio::ssl::context* tls, std::uint16_t port)
    : loop_(loop),
      acceptor_(loop, tcp::endpoint(asio::ip::make_address(address), port)),
      tls_(tls),
      script_(std::move(script)),
      address_(address),
      port_(acceptor_.local_endpoint().port()) {
  asio::co_spawn(loop, accept(), asio::detached);
}

std::string Peer::url(std::string_view path) const {
  const bool v6 = address_.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + address_ + "]" : address_;
  return (tls_ != nullptr ? "https://" : "http://") + host + ":" + std::to_string(port_) +
         std::string(path);
}

Task Peer::accept() {
  while (true) {
    auto [error, socket] = co_await acceptor_.async_accept(kQuietly);
    if (error == asio::error::operation_aborted || error == asio::error::bad_descriptor) co_return;
    if (error) {  // out of descriptors, and the test is about that
      asio::steady_timer timer(loop_, std::chrono::milliseconds(1));
      co_await timer.async_wait(kQuietly);
      continue;
    }
    auto link = std::make_shared<Link>(std::move(socket), tls_);
    link->number = ++accepted;
    asio::co_spawn(loop_, serve(std::move(link)), asio::detached);
  }
}

Task Peer::serve(std::shared_ptr<Link> link) {
  ++open;
  const bool ready = co_await link->handshake();
  if (ready) co_await script_(*link);
  --open;
}

void Peer::stop() { acceptor_.close(); }

std::string answer(int status, std::string_view body, std::string_view headers) {
  return "HTTP/1.1 " + std::to_string(status) +
         " Whatever\r\ncontent-length: " + std::to_string(body.size()) + "\r\n" +
         std::string(headers) + "\r\n" + std::string(body);
}

Peer::Script always(std::string bytes) {
  return [bytes = std::move(bytes)](Link& link) -> Task {
    std::string request = co_await link.request();
    while (!request.empty()) {
      co_await link.write(bytes);
      request = co_await link.request();
    }
  };
}

NameServer::NameServer(asio::io_context& loop)
    : socket_(loop, udp::endpoint(asio::ip::address_v4::loopback(), 0)) {
  asio::co_spawn(loop, serve(), asio::detached);
}

std::string NameServer::address() const {
  return "127.0.0.1:" + std::to_string(socket_.local_endpoint().port());
}

Task NameServer::serve() {
  std::array<char, 512> bytes{};
  while (true) {
    udp::endpoint from;
    const auto [error, count] =
        co_await socket_.async_receive_from(asio::buffer(bytes), from, kQuietly);
    if (error) co_return;
    const std::string reply = reply_to({bytes.data(), count});
    if (!reply.empty()) co_await socket_.async_send_to(asio::buffer(reply), from, kQuietly);
  }
}

namespace {

constexpr int kTypeV6 = 28;
constexpr int kTypeService = 33;

void append_number(std::string& out, std::uint32_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out.push_back(static_cast<char>(value >> shift));
}

// The head of a record, which names the question by a pointer.
void append_record(std::string& out, int type, std::uint32_t ttl, std::string_view data) {
  append_number(out, 0xC00C, 2);
  append_number(out, static_cast<std::uint32_t>(type), 2);
  append_number(out, 1, 2);
  append_number(out, ttl, 4);
  append_number(out, static_cast<std::uint32_t>(data.size()), 2);
  out.append(data);
}

std::string labels_of(std::string_view name) {
  std::string out;
  while (!name.empty() && name != ".") {
    const std::string_view label = name.substr(0, name.find('.'));
    out.push_back(static_cast<char>(label.size()));
    out.append(label);
    name.remove_prefix(std::min(label.size() + 1, name.size()));
  }
  out.push_back('\0');
  return out;
}

}  // namespace

std::string NameServer::records_of(const std::string& name, int type, int& count) const {
  std::string records;
  if (type == kTypeService) {
    const auto found = services.find(name);
    if (found == services.end()) return records;
    for (const Service& service : found->second) {
      std::string data;
      append_number(data, service.priority, 2);
      append_number(data, service.weight, 2);
      append_number(data, service.port, 2);
      append_record(records, type, service.ttl, data.append(labels_of(service.target)));
      ++count;
    }
    return records;
  }
  const auto found = known.find(name);
  if (found == known.end()) return records;
  for (const Record& record : found->second) {
    std::array<char, 16> address{};
    const bool v6 = type == kTypeV6;
    if (inet_pton(v6 ? AF_INET6 : AF_INET, record.address.c_str(), address.data()) != 1) continue;
    append_record(records, type, record.ttl, {address.data(), v6 ? 16U : 4U});
    ++count;
  }
  return records;
}

// RFC 1035 §4: the question comes back, then the records.
std::string NameServer::reply_to(std::string_view question) {
  std::string name;
  std::size_t at = 12;
  while (at < question.size() && question[at] != 0) {
    const std::size_t length = static_cast<unsigned char>(question[at]);
    name.append(name.empty() ? "" : ".").append(question.substr(at + 1, length));
    at += length + 1;
  }
  const int type = static_cast<unsigned char>(question.at(at + 2));
  if (type == kTypeService) {
    ++services_asked[name];
  } else if (type != kTypeV6) {
    ++questions;
  }
  if (silent || (!silent_below.empty() && name.ends_with(silent_below))) return {};
  int count = 0;
  const std::string records = records_of(name, type, count);
  const bool exists = type == kTypeService ? services.contains(name) : known.contains(name);
  std::string out(question.substr(0, 2));
  out.append({'\x81', exists ? '\x80' : '\x83', 0, 1, 0, static_cast<char>(count)});
  out.append(4, '\0');
  out.append(question.substr(12, at + 5 - 12));
  return out.append(records);
}

std::string Certificate::pem() const {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), &BIO_free);
  PEM_write_bio_X509(bio.get(), certificate.get());
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

Certificate make_certificate(const CertificateWish& wish, const Certificate* issuer) {
  Certificate out;
  out.key.reset(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  out.certificate.reset(X509_new(), &X509_free);
  X509* certificate = out.certificate.get();
  static int serial = 0;
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -7200);
  X509_gmtime_adj(X509_getm_notAfter(certificate), wish.expired ? -3600 : 3600);
  X509_set_pubkey(certificate, out.key.get());
  const std::string title = "test " + std::to_string(serial);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(title.c_str()), -1, -1, 0);
  X509* issuing = issuer != nullptr ? issuer->certificate.get() : certificate;
  X509_set_issuer_name(certificate, X509_get_subject_name(issuing));
  const auto extend = [&](int kind, const std::string& value) {
    X509V3_CTX context{};
    X509V3_set_ctx(&context, issuing, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
    POSTRIDER_CHECK(extension != nullptr);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  };
  extend(NID_basic_constraints, wish.authority ? "critical,CA:TRUE" : "CA:FALSE");
  if (!wish.name.empty()) extend(NID_subject_alt_name, wish.name);
  X509_sign(certificate, issuer != nullptr ? issuer->key.get() : out.key.get(), EVP_sha256());
  return out;
}

std::unique_ptr<asio::ssl::context> server_context(const Certificate& certificate) {
  auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX* raw = context->native_handle();
  POSTRIDER_CHECK(SSL_CTX_use_certificate(raw, certificate.certificate.get()) == 1);
  POSTRIDER_CHECK(SSL_CTX_use_PrivateKey(raw, certificate.key.get()) == 1);
  const unsigned char id[] = "test";
  SSL_CTX_set_session_id_context(raw, id, sizeof id);
  return context;
}

WireRig::WireRig() = default;
WireRig::~WireRig() = default;

void WireRig::note_end(AttemptId attempt, WireReply reply) {
  ended[attempt.value()].push_back(std::move(reply));
  order.push_back(attempt.value());
  if (on_end) on_end(attempt);
}

AttemptId WireRig::start(WireRequest request) {
  const AttemptId attempt(next_++);
  const std::size_t before = order.size();
  tested().start(attempt, std::move(request));
  EXPECT_EQ(order.size(), before) << "told from inside start()";
  return attempt;
}

void WireRig::until(const std::function<bool()>& so) {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (!so()) {
    if (loop.stopped()) loop.restart();
    loop.run_one_for(std::chrono::milliseconds(50));
    if (std::chrono::steady_clock::now() < give_up) continue;
    ADD_FAILURE() << "waited in vain";
    return;
  }
}

void WireRig::settle() {
  if (loop.stopped()) loop.restart();
  while (loop.poll() > 0) continue;
}

void WireRig::advance(Duration time) {
  now = now + time;
  sweep();
}

WireReply WireRig::end_of(AttemptId attempt) {
  until([&] { return has_ended(attempt); });
  settle();
  EXPECT_EQ(ended[attempt.value()].size(), 1U);
  return ended[attempt.value()].empty() ? WireReply{} : ended[attempt.value()].front();
}

HttpTransportOptions Rig::local() {
  HttpTransportOptions options;
  options.allow = {"127.0.0.0/8", "::1"};
  return options;
}

Rig::Rig(HttpTransportOptions options) : transport(make<HttpTransport>(std::move(options))) {}
Rig::~Rig() = default;

AttemptId Rig::start(const std::string& url, std::string_view body, Duration time_out) {
  const Blob owner = Blob::copy_of(body);
  return start(WireRequest{.verb = "POST",
                           .target = url,
                           .headers = {{"content-type", "application/json"}},
                           .owner = owner,
                           .body = owner.view(),
                           .time_out = time_out,
                           .trust = {}});
}

}  // namespace postrider
