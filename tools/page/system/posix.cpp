// Functions that WASI's C library lacks. The page's files stand in memory, and nobody else uses them.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

extern "C" {

char* mkdtemp(char* name) {
  static unsigned made = 0;
  char* const end = name + strlen(name);
  unsigned number = made++;
  for (char* at = end - 6; at < end; ++at, number /= 10) *at = static_cast<char>('0' + number % 10);
  return mkdir(name, 0700) == 0 ? name : nullptr;
}

char* realpath(const char* path, char* resolved) {  // there are no links
  if (resolved != nullptr) return strcpy(resolved, path);
  return strdup(path);
}
}
