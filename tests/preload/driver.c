/* A stand-in for a GPU driver: memory between two addresses counts as the GPU's. Built as libcuda.so.1 or, with -DHIP, as
   libamdhip64.so.6; both have the very functions of the real ones that OPTIQ calls. */
#include <stdint.h>
#include <string.h>

static uintptr_t begin, end;
static int managed, asked;

void stand_in_mark(void *from, void *to, int is_managed) {
    begin = (uintptr_t)from;
    end = (uintptr_t)to;
    managed = is_managed;
}

int stand_in_asked(void) { return asked; }

#ifdef HIP
struct attributes {
    int type, device;
    void *device_pointer, *host_pointer;
    int is_managed;
    unsigned flags;
};

int hipRuntimeGetVersion(int *version) {
    *version = 60032830;
    return 0;
}

int hipPointerGetAttributes(struct attributes *a, const void *address) {
    asked++;
    memset(a, 0, sizeof *a);
    if ((uintptr_t)address >= begin && (uintptr_t)address < end) {
        a->type = managed ? 3 : 2;
        a->is_managed = managed;
    }
    return 0;
}
#else
int cuPointerGetAttribute(void *value, int attribute, uint64_t address) {
    asked++;
    if (address < begin || address >= end)
        return 1; /* CUDA_ERROR_INVALID_VALUE: unknown to the driver */
    if (attribute == 2) /* CU_POINTER_ATTRIBUTE_MEMORY_TYPE: host for managed memory that is there now */
        *(unsigned *)value = managed ? 1 : 2;
    else if (attribute == 8) /* CU_POINTER_ATTRIBUTE_IS_MANAGED */
        *(unsigned char *)value = managed;
    else
        return 1;
    return 0;
}
#endif
