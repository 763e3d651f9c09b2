/* Opens versions of a library by one name, as programs do that are changed while they run. Arguments: how the next
 * version gets its name (`rename`; `rewrite`, into the same file; `link`, by a link to it), the name, the versions.
 * Before it closes a version, it waits until its parent has opened that file. */
#include "say.h"
#include <dirent.h>
#include <dlfcn.h>
#include <sys/stat.h>

/* Whether the parent has a descriptor of this file. */
static int is_held(const struct stat *file) {
  char folder[64], path[512];
  snprintf(folder, sizeof folder, "/proc/%d/fd", getppid());
  DIR *entries = opendir(folder);
  int found = 0;
  for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL && !found;) {
    struct stat other;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    found = stat(path, &other) == 0 && other.st_dev == file->st_dev && other.st_ino == file->st_ino;
  }
  if (entries != NULL) closedir(entries);
  return found;
}

int main(int count, char **arguments) {
  static char command[16384];
  if (count < 4) return 1;
  const char *name = arguments[2];
  for (int i = 3; i < count; i++) {
    const char *how = strcmp(arguments[1], "rewrite") == 0 ? "cat '%s' > '%s'"
                      : strcmp(arguments[1], "link") == 0  ? "ln -s '%s' next && mv -T next '%s'"
                                                           : "cp '%s' next && mv -T next '%s'";
    snprintf(command, sizeof command, how, arguments[i], name);
    if (system(command) != 0) return 2;
    void *library = dlopen(name, RTLD_NOW);
    if (library == NULL) return 3;
    void *(*lend)(void) = (void *(*)(void))dlsym(library, "lend");
    for (int k = 0; k < 5; k++) free(lend());
    struct stat file;
    if (stat(name, &file) != 0) return 4;
    for (int k = 0; k < 10000 && !is_held(&file); k++) usleep(1000);
    // A file that is rewritten is open already.
    if (strcmp(arguments[1], "rewrite") == 0) usleep(300000);
    if (dlclose(library) != 0) return 5;
  }
  return 0;
}
