// Calls functions that only tcmalloc has, or only mimalloc (MIMALLOC), each a hundred times for blocks of a size of its
// own, and frees what it has allocated, the first fifty by the functions of C.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#ifdef MIMALLOC
typedef struct heap heap;
void *mi_malloc(size_t), *mi_zalloc(size_t), *mi_calloc(size_t, size_t), *mi_realloc(void *, size_t);
void *mi_malloc_aligned_at(size_t, size_t, size_t), *mi_recalloc_aligned_at(void *, size_t, size_t, size_t, size_t);
void *mi_heap_malloc(heap *, size_t), *mi_heap_calloc_aligned_at(heap *, size_t, size_t, size_t, size_t);
void *mi_heap_recalloc_aligned_at(heap *, void *, size_t, size_t, size_t, size_t);
char *mi_strdup(const char *), *mi_heap_strndup(heap *, const char *, size_t);
int mi_posix_memalign(void **, size_t, size_t), mi_reallocarr(void *, size_t, size_t);
void mi_free(void *), mi_free_size_aligned(void *, size_t, size_t);
heap *mi_heap_get_default(void);
#else
void *tc_malloc(size_t), *tc_malloc_skip_new_handler(size_t), *tc_calloc(size_t, size_t), *tc_realloc(void *, size_t);
void *tc_memalign(size_t, size_t), *tc_valloc(size_t), *tc_pvalloc(size_t), *tc_new(size_t), *tc_newarray(size_t);
int tc_posix_memalign(void **, size_t, size_t);
void tc_free(void *), tc_cfree(void *), tc_free_sized(void *, size_t), tc_delete(void *), tc_deletearray(void *);
#endif

static void *volatile block;

int main(void) {
    for (int i = 0; i < 100; i++) {
        int by_c = i < 50;
#ifdef MIMALLOC
#define TAKE(allocated) (block = (allocated), by_c ? free(block) : mi_free(block))
        heap *own = mi_heap_get_default();
        void *place = NULL;
        TAKE(mi_malloc(1001));
        TAKE(mi_zalloc(1002));
        TAKE(mi_calloc(3, 335));
        TAKE(mi_realloc(malloc(999), 1006));
        TAKE(mi_malloc_aligned_at(1008, 64, 16));
        TAKE(mi_recalloc_aligned_at(mi_malloc_aligned_at(998, 64, 8), 1, 1009, 64, 8));
        TAKE(mi_heap_malloc(own, 1010));
        TAKE(mi_heap_calloc_aligned_at(own, 3, 337, 64, 8));
        TAKE(mi_heap_recalloc_aligned_at(own, NULL, 2, 506, 64, 8));
        TAKE(mi_strdup("twelve bytes"));
        TAKE(mi_heap_strndup(own, "no more than these bytes", 16));
        if (mi_posix_memalign(&place, 64, 1013) != 0) return 1;
        TAKE(place);
        place = malloc(997);
        if (mi_reallocarr(&place, 1, 1014) != 0) return 1;
        TAKE(place);
        block = mi_malloc_aligned_at(1015, 64, 0);
        mi_free_size_aligned(block, 1015, 64);
#else
#define TAKE(allocated) (block = (allocated), by_c ? free(block) : tc_free(block))
        void *place = NULL;
        TAKE(tc_malloc(1001));
        TAKE(tc_malloc_skip_new_handler(1002));
        TAKE(tc_calloc(3, 335));
        TAKE(tc_realloc(malloc(999), 1006));
        TAKE(tc_memalign(64, 1008));
        TAKE(tc_valloc(1009));
        TAKE(tc_pvalloc(1010));
        if (tc_posix_memalign(&place, 64, 1011) != 0) return 1;
        TAKE(place);
        block = malloc(1012);
        tc_cfree(block);
        block = tc_malloc(13);
        tc_free_sized(block, 13);
        block = tc_new(17);
        tc_delete(block);
        block = tc_newarray(1013);
        tc_deletearray(block);
        block = malloc(1014);
        tc_free(block);
        TAKE(malloc(1015));
#endif
    }
    return 0;
}
