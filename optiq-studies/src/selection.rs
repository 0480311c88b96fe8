//! Which cases of a study run: all of them, or those that the user names.

use crate::failure::Failure;

/// Names of groups of cases; none stand for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection(Vec<String>);

impl Selection {
    /// Those of `lists` alone, each of which has one name or several with commas between them; all if there is no list.
    pub fn new(lists: &[String]) -> Self {
        let mut names: Vec<String> = Vec::new();
        for name in lists.iter().flat_map(|list| list.split(',')).map(str::trim) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        Selection(names)
    }

    /// Whether the cases of this name run.
    pub fn includes(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|wanted| wanted == name)
    }

    /// Those that are named, of one kind of things of a study; all of this kind if none of it is.
    pub fn of_kind<T>(&self, all: Vec<T>, name: impl Fn(&T) -> String) -> Vec<T> {
        let (named, others): (Vec<T>, Vec<T>) = all.into_iter().partition(|one| self.includes(&name(one)));
        if named.is_empty() { others } else { named }
    }

    /// Those of the names that a study has, as an option of a command line with a space before it; nothing if there are none.
    pub fn option(&self, names: &[String]) -> String {
        let own: Vec<&str> = self.0.iter().filter(|name| names.contains(name)).map(String::as_str).collect();
        if own.is_empty() { String::new() } else { format!(" --cases {}", own.join(",")) }
    }

    /// Checks the names against those of the studies that run, one entry for each: its name, and the names of its cases.
    ///
    /// # Errors
    /// [`Failure::Input`] for names that no study has, and for a study that would run no case.
    pub fn check(&self, studies: &[(String, Vec<String>)]) -> Result<(), Failure> {
        let is_known = |name: &String| studies.iter().any(|(_, cases)| cases.contains(name));
        let unknown: Vec<String> =
            self.0.iter().filter(|name| !is_known(name)).map(|name| format!("\"{name}\"")).collect();
        if !unknown.is_empty() {
            let mut known: Vec<&str> = Vec::new();
            for name in studies.iter().flat_map(|(_, cases)| cases) {
                // Several studies may have the same group.
                if !known.contains(&name.as_str()) {
                    known.push(name);
                }
            }
            let (unknown, known) = (unknown.join(", "), known.join(", "));
            return Err(Failure::Input(format!("--cases does not take {unknown}; it takes {known}")));
        }
        for (study, cases) in studies {
            if !cases.iter().any(|name| self.includes(name)) {
                let cases = cases.join(", ");
                return Err(Failure::Input(format!("--cases names no case of {study}; one of {cases} is expected")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_which_none_is_named_is_taken_whole() {
        let selection = Selection::new(&["star".into()]);
        assert_eq!(selection.of_kind(vec!["torus", "star"], |name| (*name).into()), ["star"]);
        assert_eq!(selection.of_kind(vec!["a", "b"], |name| (*name).into()), ["a", "b"]);
        assert_eq!(Selection::default().of_kind(vec!["a", "b"], |name| (*name).into()), ["a", "b"]);
    }

    #[test]
    fn names_are_checked() {
        let studies =
            [("lab".to_owned(), vec!["a".to_owned(), "b".to_owned()]), ("io".to_owned(), vec!["c".into(), "a".into()])];
        let check = |lists: &[&str]| {
            let lists: Vec<String> = lists.iter().map(|&list| list.to_owned()).collect();
            Selection::new(&lists).check(&studies).map_err(|e| e.to_string())
        };
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&["b", "c"]), Ok(()));
        assert_eq!(check(&["b,c"]), Ok(()));
        assert_eq!(check(&["x"]), Err("--cases does not take \"x\"; it takes a, b, c".into()));
        assert_eq!(check(&["a,x", "y"]), Err("--cases does not take \"x\", \"y\"; it takes a, b, c".into()));
        assert_eq!(check(&["a,"]), Err("--cases does not take \"\"; it takes a, b, c".into()));
        assert_eq!(check(&["b"]), Err("--cases names no case of io; one of c, a is expected".into()));
    }

    #[test]
    fn no_name_stands_for_all() {
        let names = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        assert!(Selection::default().includes("a") && Selection::default().option(&names).is_empty());
        let one = Selection::new(&["a".into()]);
        assert!(one.includes("a") && !one.includes("b") && one.option(&names) == " --cases a");
        assert_eq!(one.option(&names[1..]), "", "a study does not take the names of others");
    }

    #[test]
    fn a_list_has_several_names() {
        let names = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let two = Selection::new(&["a, c".into(), "c".into()]);
        assert!(two.includes("a") && !two.includes("b") && two.includes("c"));
        assert_eq!(two.option(&names), " --cases a,c");
        assert_eq!(two, Selection::new(&["a".into(), "c".into()]));
    }
}
