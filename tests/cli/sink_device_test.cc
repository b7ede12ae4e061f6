// The far sides of the device profile as commands: what they print, take and refuse.
#include <csignal>
#include <fcntl.h>

#include "tests/cli/program.h"

namespace postrider {
namespace {

using cli::Ran;
using cli::run;

// The program in the background; its first line is what it says about itself.
class Background {
 public:
  explicit Background(std::vector<std::string> words) {
    std::array<int, 2> pipe{};
    EXPECT_EQ(pipe2(pipe.data(), O_CLOEXEC), 0);
    std::vector<char*> arguments;
    words.insert(words.begin(), POSTRIDER_BINARY);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(pipe[1], STDOUT_FILENO);
      const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
      dup2(null, STDERR_FILENO);
      execv(POSTRIDER_BINARY, arguments.data());
      _exit(127);
    }
    close(pipe[1]);
    for (char c = 0; read(pipe[0], &c, 1) == 1 && c != '\n';) line.push_back(c);
    close(pipe[0]);
  }
  ~Background() {
    if (pid_ > 0) stop();
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  int stop() {  // the exit code
    kill(pid_, SIGTERM);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // The port that the line gives under this name.
  int port(const std::string& name) const {
    const std::size_t at = line.find("\"" + name + "\":\"127.0.0.1:");
    if (at == std::string::npos) return 0;
    return std::atoi(line.c_str() + at + name.size() + std::string("\"\":\"127.0.0.1:").size());
  }

  std::string line;

 private:
  pid_t pid_ = -1;
};

std::string ask(int port, const std::string& request, const std::string& body = "") {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  std::string text;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    const std::string head = request + " HTTP/1.1\r\nhost: x\r\nconnection: close\r\n" +
                             "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    send(fd, head.data(), head.size(), MSG_NOSIGNAL);
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = recv(fd, buffer.data(), buffer.size(), 0)) > 0;)
      text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(fd);
  return text;
}

// req: cli.sink.2, cli.sink.4
TEST(SinkChirpstackCommand, PrintsItsPortsAndCanBeSeenAndSetWhileItRuns) {
  Background sink({"sink", "chirpstack", "--grpc", "0", "--control", "0", "--events",
                   "http://127.0.0.1:1/ingress/lorawan", "--fault", "lose-events=20"});
  EXPECT_GT(sink.port("grpc"), 0) << sink.line;
  const int control = sink.port("control");
  ASSERT_GT(control, 0) << sink.line;
  EXPECT_NE(ask(control, "GET /faults").find("\"lose-events\":20,"), std::string::npos);
  EXPECT_NE(ask(control, "POST /faults", "{\"hang\": 7}").find("\"hang\":7,"), std::string::npos);
  EXPECT_NE(ask(control, "GET /faults").find("\"hang\":7,"), std::string::npos);
  EXPECT_NE(ask(control, "POST /faults", "{\"hangs\": 7}").find("did you mean 'hang'?"),
            std::string::npos);
  EXPECT_NE(ask(control, "GET /ledger").find(R"({"copies":[],"runs":[],"doubled":[]})"),
            std::string::npos);
  EXPECT_EQ(sink.stop(), 0);
}

// req: cli.sink.3
TEST(SinkCalinCommand, AnswersTheVendorsApiOnThePortThatItPrints) {
  Background sink({"sink", "calin", "--listen", "0", "--version", "1"});
  const int port = sink.port("listen");
  ASSERT_GT(port, 0) << sink.line;
  const std::string created =
      ask(port, "POST /COMM_RemoteControl",
          R"({"CompanyName":"a","UserName":"u","Password":"p","MeterNo":"47003333623",)"
          R"("DataItem":"Switch Off"})");
  EXPECT_NE(created.find("\"ResultCode\":\"00\""), std::string::npos) << created;
  EXPECT_NE(ask(port, "GET /ledger").find("\"what\":\"TURN_OFF\""), std::string::npos);
  EXPECT_EQ(sink.stop(), 0);
}

TEST(SinkDeviceCommands, ExplainThemselves) {
  const Ran chirpstack = run("sink chirpstack --help");
  EXPECT_EQ(chirpstack.code, 0);
  for (const char* word : {"--events-header", "--mqtt", "nack-first=P", "GET /ledger"})
    EXPECT_NE(chirpstack.output.find(word), std::string::npos) << word;
  const Ran calin = run("sink calin --help");
  EXPECT_EQ(calin.code, 0);
  for (const char* word : {"--version", "code-99=P", "slow-task-ms=MS"})
    EXPECT_NE(calin.output.find(word), std::string::npos) << word;
  // The help and the completion know each far side by the table that runs it.
  const std::string overview = run("sink --help").output + run("completion bash").output;
  for (const char* word : {"postrider sink chirpstack", "postrider sink matrix", "'sink matrix')"})
    EXPECT_NE(overview.find(word), std::string::npos) << word;
}

TEST(SinkDeviceCommands, ComplainAboutWhatMakesNoSense) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"sink chirpstack --grpc here", "is no address"},
      {"sink chirpstack --class B", "neither A nor C"},
      {"sink chirpstack --fault lose-events", "NAME=VALUE"},
      {"sink chirpstack --fault lose-events=x", "whole number"},
      {"sink chirpstack --fault lose-events=101", "at most 100"},
      {"sink chirpstack --fault lose-event=1", "did you mean 'lose-events'?"},
      {"sink chirpstack --events ftp://x", "ftp://x"},
      {"sink chirpstack --events-header secret", "NAME=VALUE"},
      {"sink chirpstack --mqtt broker", "HOST:PORT"},
      {"sink chirpstack --mqtt broker:0", "no port"},
      {"sink calin --version 3", "--version"},
      {"sink calin --fault lies=1000", "at most 100"},
      {"sink calin --grpc 0", "--grpc"},
  };
  for (const auto& [command, words] : kWrong) {
    const Ran ran = run(std::string(command) + " --seed 1");
    EXPECT_EQ(ran.code, 2) << command << ": " << ran.output;
    EXPECT_NE(ran.output.find(words), std::string::npos) << command << ": " << ran.output;
  }
}

}  // namespace
}  // namespace postrider
