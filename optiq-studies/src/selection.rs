//! Which cases of a study run: all of them, or those that the user names.

use crate::failure::Failure;

/// Names of groups of cases; none stand for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection(Vec<String>);

impl Selection {
    /// Those of `names` alone; all if it is empty.
    pub fn new(names: Vec<String>) -> Self {
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

    /// Those of the names that a study has, as options of a command line, each with a space before it.
    pub fn options(&self, names: &[String]) -> String {
        self.0.iter().filter(|name| names.contains(name)).map(|name| format!(" --cases {name}")).collect()
    }

    /// Checks the names against those of the studies that run, one entry for each: its name, and the names of its cases.
    ///
    /// # Errors
    /// [`Failure::Input`] for a name that no study has, and for a study that would run no case.
    pub fn check(&self, studies: &[(String, Vec<String>)]) -> Result<(), Failure> {
        let all =
            || studies.iter().flat_map(|(_, cases)| cases.iter().map(String::as_str)).collect::<Vec<_>>().join(", ");
        for name in &self.0 {
            if !studies.iter().any(|(_, cases)| cases.contains(name)) {
                return Err(Failure::Input(format!("--cases {name}: one of {} is expected", all())));
            }
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
        let selection = Selection::new(vec!["star".into()]);
        assert_eq!(selection.of_kind(vec!["torus", "star"], |name| (*name).into()), ["star"]);
        assert_eq!(selection.of_kind(vec!["a", "b"], |name| (*name).into()), ["a", "b"]);
        assert_eq!(Selection::default().of_kind(vec!["a", "b"], |name| (*name).into()), ["a", "b"]);
    }

    #[test]
    fn names_are_checked() {
        let studies =
            [("lab".to_owned(), vec!["a".to_owned(), "b".to_owned()]), ("io".to_owned(), vec!["c".to_owned()])];
        let check = |names: &[&str]| {
            let selection = Selection::new(names.iter().map(|&n| n.to_owned()).collect());
            selection.check(&studies).map_err(|e| e.to_string())
        };
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&["b", "c"]), Ok(()));
        assert_eq!(check(&["x"]), Err("--cases x: one of a, b, c is expected".into()));
        assert_eq!(check(&["a"]), Err("--cases names no case of io; one of c is expected".into()));
    }

    #[test]
    fn no_name_stands_for_all() {
        let names = ["a".to_owned()];
        assert!(Selection::default().includes("a") && Selection::default().options(&names).is_empty());
        let one = Selection::new(vec!["a".into()]);
        assert!(one.includes("a") && !one.includes("b") && one.options(&names) == " --cases a");
        assert_eq!(one.options(&["b".to_owned()]), "", "a study does not take the names of others");
    }
}
