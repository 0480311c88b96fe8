/* What MPI libraries define as macros or leave to the implementation, under names that Rust can link to. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <mpi.h>

void *optiq_mpi_in_place(void) { return MPI_IN_PLACE; }
void *optiq_mpi_bottom(void) { return MPI_BOTTOM; }
int optiq_mpi_is_initialized(void) {
    int initialized = 0, finalized = 0;
    PMPI_Initialized(&initialized);
    PMPI_Finalized(&finalized);
    return initialized && !finalized;
}


/* Sleeps while a word in shared memory has this value, until it is woken, for some nanoseconds at most; wakes those that sleep. */
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
void optiq_mpi_sleep_on(const unsigned *word, unsigned value, long nanoseconds) {
    struct timespec longest = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT, value, &longest, (void *)0, 0);
}
void optiq_mpi_wake(const unsigned *word, int sleepers) {
    syscall(SYS_futex, word, FUTEX_WAKE, sleepers, (void *)0, (void *)0, 0);
}
#else
#include <sched.h>
void optiq_mpi_sleep_on(const unsigned *word, unsigned value, long nanoseconds) {
    (void)word, (void)value, (void)nanoseconds;
    sched_yield();
}
void optiq_mpi_wake(const unsigned *word, int sleepers) { (void)word, (void)sleepers; }
#endif

const MPI_Datatype optiq_mpi_byte = MPI_BYTE;
const int optiq_mpi_tag_ub = MPI_TAG_UB;
const int optiq_mpi_lock_mode_nocheck = MPI_MODE_NOCHECK;

/* The layout of a datatype that is made of one other, where that is enough to decide whether it is contiguous. */
enum { OPTIQ_NAMED, OPTIQ_DUP, OPTIQ_CONTIGUOUS, OPTIQ_VECTOR, OPTIQ_RESIZED, OPTIQ_OTHER };
int optiq_mpi_combiner(int combiner) {
    switch (combiner) {
    case MPI_COMBINER_NAMED: return OPTIQ_NAMED;
    case MPI_COMBINER_DUP: return OPTIQ_DUP;
    case MPI_COMBINER_CONTIGUOUS: return OPTIQ_CONTIGUOUS;
    case MPI_COMBINER_VECTOR: return OPTIQ_VECTOR;
    case MPI_COMBINER_RESIZED: return OPTIQ_RESIZED;
    default: return OPTIQ_OTHER;
    }
}

/* The class of performance variables that count bytes or messages of each peer: an enumerator or a macro. */
int optiq_mpi_pvar_class_size(void) { return MPI_T_PVAR_CLASS_SIZE; }

/* Has Open MPI's monitoring component register its performance variables again; 0 if the component is not loaded (monitoring.rs). */
#ifdef OPEN_MPI
#include <dlfcn.h>
int optiq_mpi_monitoring_register(void) {
    static const char *const names[] = {"libmca_common_monitoring.so.50", "libmca_common_monitoring.so.60",
                                        "libmca_common_monitoring.so"};
    static const char function[] = "mca_common_monitoring_register";
    void *found = dlsym(RTLD_DEFAULT, function);
    for (unsigned i = 0; !found && i < sizeof names / sizeof *names; i++) {
        /* Loads nothing; the reference is kept for good, so that the library stays. */
        void *library = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library) found = dlsym(library, function);
    }
    if (!found) return 0;
    ((void (*)(void *))found)(0);
    return 1;
}
#else
int optiq_mpi_monitoring_register(void) { return 0; }
#endif
