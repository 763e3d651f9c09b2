// Writes a mebibyte past the end of a block that has its own mapping, or before its beginning.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments) {
    char *block = malloc(262144);
    if (arguments[count - 1][0] == 'e')
        memset(block + 262144, 'A', 1 << 20);
    else
        memset(block - (1 << 20), 'A', (1 << 20) - 16);
    for (int i = 0; i < 1000; i++) free(malloc(100 + i));
    puts("survived");
    return 0;
}
