//! Blocks of commands in Markdown, and the comment before each that says who runs it.
//!
//! The line before a block is `<!-- run as: READER -->`, or `READER and READER`, with `, in a lab` and `; shows: TEXT` where these
//! apply, or `<!-- not run: REASON -->`. Readers of the rendered page do not see it. optiq-cli/tests/book.rs requires one before every
//! block of commands that it does not run itself.

use crate::failure::{Failure, Outcome};

/// The words after the backticks that open a block of commands.
const SHELLS: [&str; 2] = ["sh", "bash"];

/// A block of commands that a reader runs.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// Where the document has it, counted from 1.
    pub line: usize,
    /// Who run it, each by themselves.
    pub readers: Vec<String>,
    /// Whether it needs a machine that permits a lab.
    pub in_a_lab: bool,
    /// What the output must have in it.
    pub shows: Option<String>,
    /// The commands, each in one line, without those that are only a comment.
    pub commands: Vec<String>,
}

/// The blocks of a document that somebody runs; `name` is for messages.
///
/// # Errors
/// [`Failure::Failed`] with the line of a block of commands that does not say who runs it, or why it is not run.
pub fn blocks(name: &str, text: &str) -> Outcome<Vec<Block>> {
    let (mut found, mut before, mut lines) = (Vec::new(), "", text.lines().zip(1..));
    while let Some((line, number)) = lines.next() {
        if let Some(words) = line.strip_prefix("```") {
            let inside: Vec<&str> = lines.by_ref().map(|(l, _)| l).take_while(|l| !l.starts_with("```")).collect();
            if SHELLS.contains(&words.split(',').next().unwrap_or_default()) {
                found.extend(block(name, number, before, &inside)?);
            }
        }
        before = line;
    }
    Ok(found)
}

fn block(name: &str, line: usize, before: &str, inside: &[&str]) -> Outcome<Option<Block>> {
    let comment = before.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")).unwrap_or_default();
    if comment.starts_with("not run: ") {
        return Ok(None);
    }
    let Some(who) = comment.strip_prefix("run as: ") else {
        return Err(Failure::Failed(format!(
            "{name}:{line}: the line before the block is \"{before}\", and <!-- run as: READER --> or <!-- not run: REASON --> is expected"
        )));
    };
    let (who, shows) = match who.split_once("; shows: ") {
        Some((who, shows)) => (who, Some(shows.to_string())),
        None => (who, None),
    };
    let (who, in_a_lab) = match who.strip_suffix(", in a lab") {
        Some(who) => (who, true),
        None => (who, false),
    };
    let readers = who.split(" and ").map(String::from).collect();
    Ok(Some(Block { line, readers, in_a_lab, shows, commands: commands(inside) }))
}

/// Lines that end in a backslash are joined with the next one.
fn commands(lines: &[&str]) -> Vec<String> {
    let (mut commands, mut open) = (Vec::new(), String::new());
    for line in lines {
        match line.strip_suffix('\\') {
            Some(start) => open += start,
            None => commands.push(std::mem::take(&mut open) + line),
        }
    }
    commands.retain(|c| !c.trim().is_empty() && !c.trim_start().starts_with('#'));
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_say_who_runs_them() {
        let text = "text\n<!-- run as: author and researcher, in a lab; shows: it, all -->\n```sh\n# first\na \\\n  b\n\nc\n```\n\
                    <!-- not run: it needs a cluster -->\n```bash\nd\n```\n```c\nint e;\n```\n\
                    <!-- run as: administrator -->\n```sh,x\nf\n```\n";
        let found = blocks("page", text).unwrap();
        let words = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].line, &found[0].readers, found[0].in_a_lab), (3, &words(&["author", "researcher"]), true));
        assert_eq!((found[0].shows.as_deref(), &found[0].commands), (Some("it, all"), &words(&["a   b", "c"])));
        assert_eq!((found[1].line, &found[1].readers, found[1].in_a_lab), (18, &words(&["administrator"]), false));
        assert_eq!((&found[1].shows, &found[1].commands), (&None, &words(&["f"])));
    }

    #[test]
    fn a_block_that_says_nothing_is_refused() {
        let error = blocks("page", "a\n\n```sh\nrm\n```\n").unwrap_err().to_string();
        assert!(error.starts_with("page:3: the line before the block is \"\""), "{error}");
    }
}
