/* What Fortran passes, in C's terms: handles, which are integers there, and the constants that stand for an address. */
#include <mpi.h>
#include <stddef.h>

/* Outside of MPI_Init and MPI_Finalize, Open MPI's conversions end the program; for an integer that is no handle they give a
 * null pointer. The null handle is what calls refuse in words. */
int optiq_mpi_is_initialized(void);
#ifdef OPEN_MPI
#define CONVERT(type, convert, integer, none) \
    type handle = optiq_mpi_is_initialized() ? convert(integer) : (none); \
    return handle ? handle : (none)
#else
#define CONVERT(type, convert, integer, none) return optiq_mpi_is_initialized() ? convert(integer) : (none)
#endif

MPI_Comm optiq_fortran_to_comm(MPI_Fint comm) { CONVERT(MPI_Comm, PMPI_Comm_f2c, comm, MPI_COMM_NULL); }
MPI_Datatype optiq_fortran_to_type(MPI_Fint type) { CONVERT(MPI_Datatype, PMPI_Type_f2c, type, MPI_DATATYPE_NULL); }
/* MPI_INFO_NULL is a valid argument, so an invalid handle must not become it. */
MPI_Info optiq_fortran_to_info(MPI_Fint info) { return optiq_mpi_is_initialized() ? PMPI_Info_f2c(info) : MPI_INFO_NULL; }

MPI_File optiq_fortran_to_file(MPI_Fint file) { CONVERT(MPI_File, PMPI_File_f2c, file, MPI_FILE_NULL); }

MPI_Win optiq_fortran_to_win(MPI_Fint win) { CONVERT(MPI_Win, PMPI_Win_f2c, win, MPI_WIN_NULL); }

MPI_Request optiq_fortran_to_request(MPI_Fint request) { CONVERT(MPI_Request, PMPI_Request_f2c, request, MPI_REQUEST_NULL); }
MPI_Fint optiq_request_to_fortran(MPI_Request request) { return PMPI_Request_c2f(request); }

/* In Fortran, MPI_IN_PLACE and MPI_BOTTOM are variables whose address is what counts (MPI 4.0, section 19.3.9). Where they
 * are differs between libraries and between their interfaces. Weak references: NULL where a program's libraries have no such
 * variable. The linker sees to it that a program and its libraries have the same one, also in static executables. */
#define WEAK(type, name, symbol) extern type name __asm__(symbol) __attribute__((weak))

/* Open MPI: common blocks for mpif.h and mpi, and what mpi_f08 binds to, under the names that Fortran compilers make. */
WEAK(char, ompi_in_place_1, "mpi_fortran_in_place_");
WEAK(char, ompi_in_place_2, "mpi_fortran_in_place__");
WEAK(char, ompi_in_place_3, "mpi_fortran_in_place");
WEAK(char, ompi_in_place_4, "MPI_FORTRAN_IN_PLACE");
WEAK(char, ompi_bottom_1, "mpi_fortran_bottom_");
WEAK(char, ompi_bottom_2, "mpi_fortran_bottom__");
WEAK(char, ompi_bottom_3, "mpi_fortran_bottom");
WEAK(char, ompi_bottom_4, "MPI_FORTRAN_BOTTOM");

/* MPICH and what comes from it: mpi_f08 has variables; mpif.h and mpi have a common block of MPI_BOTTOM, MPI_IN_PLACE and
 * more, whose addresses the library notes at the first call from Fortran, which need not have been made. */
WEAK(char, mpich_f08_in_place, "MPIR_F08_MPI_IN_PLACE");
WEAK(char, mpich_f08_bottom, "MPIR_F08_MPI_BOTTOM");
WEAK(void *, mpich_in_place, "MPIR_F_MPI_IN_PLACE");
WEAK(void *, mpich_bottom, "MPIR_F_MPI_BOTTOM");
WEAK(MPI_Fint, mpich_block_1, "mpipriv1_");
WEAK(MPI_Fint, mpich_block_2, "mpipriv1__");
WEAK(MPI_Fint, mpich_block_3, "mpipriv1");
WEAK(MPI_Fint, mpich_block_4, "MPIPRIV1");

#define IS(variable) (&(variable) != NULL && buffer == (const void *)&(variable))
#define NOTED(variable) (&(variable) != NULL && (variable) != NULL && buffer == (variable))
#define IN_BLOCK(block, place) (&(block) != NULL && buffer == (const void *)(&(block) + (place)))

void *optiq_fortran_to_buffer(void *buffer) {
    if (buffer == NULL) return NULL;
    if (IS(ompi_in_place_1) || IS(ompi_in_place_2) || IS(ompi_in_place_3) || IS(ompi_in_place_4)
        || IS(mpich_f08_in_place) || NOTED(mpich_in_place) || IN_BLOCK(mpich_block_1, 1) || IN_BLOCK(mpich_block_2, 1)
        || IN_BLOCK(mpich_block_3, 1) || IN_BLOCK(mpich_block_4, 1))
        return MPI_IN_PLACE;
    if (IS(ompi_bottom_1) || IS(ompi_bottom_2) || IS(ompi_bottom_3) || IS(ompi_bottom_4) || IS(mpich_f08_bottom)
        || NOTED(mpich_bottom) || IN_BLOCK(mpich_block_1, 0) || IN_BLOCK(mpich_block_2, 0) || IN_BLOCK(mpich_block_3, 0)
        || IN_BLOCK(mpich_block_4, 0))
        return MPI_BOTTOM;
    return buffer;
}

/* A status as Fortran has it, which in memory is MPI_STATUS_SIZE integers also in mpi_f08, unless it is MPI_STATUS_IGNORE:
 * C knows that of mpif.h and mpi (MPI 4.0, section 19.3.5), which in Open MPI is that of mpi_f08 as well. */
WEAK(char, mpich_f08_status_ignore, "MPIR_F08_MPI_STATUS_IGNORE_OBJ");
int optiq_fortran_ignores(const void *buffer) {
    return buffer == NULL || buffer == (const void *)MPI_F_STATUS_IGNORE || IS(mpich_f08_status_ignore);
}
int optiq_status_to_fortran(const MPI_Status *status, MPI_Fint *into) { return PMPI_Status_c2f(status, into); }
