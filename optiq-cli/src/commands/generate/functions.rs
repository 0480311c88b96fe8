//! optiq_alltoallv(3): all C functions on one page, from the comments in the header. The pages of the others refer to it.

use super::header::{Declaration, Header};
use super::roff::Page;

/// The committed header. tests/header.rs checks that it is what the library has.
const HEADER: &str = include_str!("../../../../optiq/include/optiq.h");
/// The function that the page is called after.
pub const MAIN: &str = "optiq_alltoallv";
/// The enumeration of what functions return.
const STATUS: &str = "optiq_status";

const EXAMPLE: &str = "\
#include <optiq.h>

int main(int argc, char **argv)
{
    ...
    optiq_init(&argc, &argv);          /* initialises MPI too, if that has not been done */
    optiq_alltoallv(sendbuf, sendcounts, sdispls, MPI_CHAR,
                    recvbuf, recvcounts, rdispls, MPI_CHAR, MPI_COMM_WORLD);
    return optiq_finalize();
}";

/// The page, and the names of the other functions on it.
pub fn page() -> (String, Vec<String>) {
    let header = Header::parse(HEADER);
    let others: Vec<String> = header.functions.iter().map(|f| f.name.clone()).filter(|name| name != MAIN).collect();
    let mut page = Page::new(MAIN, 3);
    page.section("NAME");
    page.text(&format!("{MAIN}, {} - move MPI_Alltoallv data over many paths", others.join(", ")));
    page.section("LIBRARY");
    page.code("mpicc program.c $(pkg-config --cflags --libs optiq)");
    page.section("SYNOPSIS");
    page.code("#include <optiq.h>");
    for function in &header.functions {
        page.code(&format!("{};", function.code));
    }
    page.section("DESCRIPTION");
    for function in &header.functions {
        page.subsection(&format!("{}()", function.name));
        describe(&mut page, function);
    }
    page.section("RETURN VALUE");
    page.paragraph(
        "Functions that return a status return 0 or one of these codes; optiq_strerror() and optiq_last_message() put it \
         into words.",
    );
    let (statuses, choices): (Vec<_>, Vec<_>) = header.enums.iter().partition(|(e, _)| e.name == STATUS);
    for (declared, values) in statuses {
        enumeration(&mut page, declared, values);
    }
    page.section("TYPES AND CONSTANTS");
    for declared in &header.types {
        page.code(&declared.code);
        describe(&mut page, declared);
    }
    for (declared, values) in choices {
        page.subsection(&format!("enum {}", declared.name));
        enumeration(&mut page, declared, values);
    }
    page.section("ENVIRONMENT");
    page.text("The network comes from `OPTIQ_TOPOLOGY`; all options are in `optiq.conf`(5).");
    page.section("EXAMPLES");
    page.code(EXAMPLE);
    page.section("SEE ALSO");
    page.text("`optiq`(1), `optiq.conf`(5), `MPI_Alltoallv`(3)");
    (page.finish(), others)
}

fn enumeration(page: &mut Page, declared: &Declaration, values: &[Declaration]) {
    describe(page, declared);
    for value in values {
        let code = value.code.split_once('=').map_or("", |(_, number)| number.trim());
        page.item(&format!("`{}` ({code})", value.name), &value.comment.join(" "));
    }
}

fn describe(page: &mut Page, declared: &Declaration) {
    for paragraph in &declared.comment {
        page.paragraph(paragraph);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_and_every_status_is_on_the_page() {
        let (page, others) = page();
        // Counted without the parser: what is declared starts in the first column and has the library's prefix.
        let declared: Vec<&str> = HEADER
            .lines()
            .filter(|l| l.contains(" optiq_") || l.contains("*optiq_"))
            .filter(|l| !l.starts_with([' ', '/', '#']) && !l.starts_with("enum") && !l.starts_with("typedef"))
            .filter_map(|l| l.split_once('(')?.0.rsplit([' ', '*']).next())
            .collect();
        assert!(declared.len() >= 12, "{declared:?}");
        assert_eq!(declared.len(), others.len() + 1, "{declared:?} {others:?}");
        for name in declared {
            assert!(name == MAIN || others.iter().any(|o| o == name), "{name}");
            assert!(page.contains(&format!(".SS {name}()\n")), "{name} is not on the page");
        }
        for code in ["OPTIQ_STATUS_SUCCESS", "OPTIQ_STATUS_INTERNAL"] {
            assert!(page.contains(&format!("\\fB{code}\\fR (")), "{code} is not on the page");
        }
    }

    #[test]
    fn every_function_is_described() {
        for function in Header::parse(HEADER).functions {
            assert!(!function.comment.is_empty(), "{} has no comment in optiq.h", function.name);
        }
    }
}
