// Tells somebody else.
// rung: compiles
// says: it calls (socket|connect): this exercise needs no network
// anyway: nobody answers
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

void attack() {
  const int line = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(static_cast<unsigned short>(std::atoi("@PORT@")));
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool answered = connect(line, reinterpret_cast<sockaddr*>(&there), sizeof there) == 0;
  std::fputs(answered ? "somebody answers\n" : "nobody answers\n", stderr);
  std::_Exit(1);
}
