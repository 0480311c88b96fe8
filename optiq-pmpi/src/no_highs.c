/* HiGHS is not in the preload library, which is loaded into every process that a job script starts: its C++ library and its static
 * initialisers would cost each of them more than everything else in here. It only serves the planner `lp`, and
 * optiq::c_api::interpose lets `optimal` plan in its place.
 *
 * The crates in between refer to HiGHS's functions in every build that has the feature `highs`, and cargo gives all crates of a build
 * the same features. So they find these, which are linked first, and no object of HiGHS is taken from its archive. If a later
 * version of those crates calls one more function, linking fails with "duplicate symbol": add its name.
 *
 * They are hidden: a program may have a HiGHS of its own. If one is called all the same, it fails as HiGHS's do: with NULL in place
 * of a model, and else with kHighsStatusError.
 */
#include <stddef.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN void *Highs_create(void) {
    return NULL;
}

HIDDEN void Highs_destroy(void *model) {
    (void)model;
}

#define FAILS(name)                                                                                                                   \
    HIDDEN int name(void) {                                                                                                           \
        return -1;                                                                                                                    \
    }

FAILS(Highs_addCol)
FAILS(Highs_addRow)
FAILS(Highs_changeColBounds)
FAILS(Highs_changeColCost)
FAILS(Highs_changeColIntegrality)
FAILS(Highs_changeObjectiveSense)
FAILS(Highs_getDoubleInfoValue)
FAILS(Highs_getIntInfoValue)
FAILS(Highs_getIntOptionValue)
FAILS(Highs_getModelStatus)
FAILS(Highs_getNumCols)
FAILS(Highs_getNumRows)
FAILS(Highs_getObjectiveValue)
FAILS(Highs_getSolution)
FAILS(Highs_passHessian)
FAILS(Highs_passLp)
FAILS(Highs_passMip)
FAILS(Highs_run)
FAILS(Highs_setBoolOptionValue)
FAILS(Highs_setDoubleOptionValue)
FAILS(Highs_setIntOptionValue)
FAILS(Highs_setOptionValue)
FAILS(Highs_setSolution)
FAILS(Highs_setStringOptionValue)
