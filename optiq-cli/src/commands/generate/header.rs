//! Reads `optiq.h` as cbindgen writes it: comments, and the declarations that they precede.

/// A declaration with the comment before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// What is declared.
    pub name: String,
    /// The declaration, as it is written, without the semicolon and without inner comments.
    pub code: String,
    /// The comment, in paragraphs.
    pub comment: Vec<String>,
}

/// What the header declares, in its order.
#[derive(Debug, Default)]
pub struct Header {
    /// Functions.
    pub functions: Vec<Declaration>,
    /// Types and constants that are no enumeration.
    pub types: Vec<Declaration>,
    /// Enumerations, each with its values.
    pub enums: Vec<(Declaration, Vec<Declaration>)>,
}

impl Header {
    /// Reads the header.
    pub fn parse(text: &str) -> Self {
        let mut header = Header::default();
        let mut lines = text.lines().peekable();
        let mut comment = Vec::new();
        while let Some(line) = lines.next() {
            let trimmed = line.trim();
            if trimmed.starts_with("/*") {
                comment = read_comment(trimmed, &mut lines);
            } else if trimmed == "#ifdef __cplusplus" {
                // Braces for C++ only.
                lines.by_ref().find(|l| l.trim().starts_with("#endif"));
            } else if let Some(definition) = trimmed.strip_prefix("#define ") {
                if let Some((name, _)) = definition.split_once(' ') {
                    let comment = std::mem::take(&mut comment);
                    header.types.push(Declaration { name: name.into(), code: trimmed.into(), comment });
                }
            } else if !trimmed.is_empty() && !trimmed.starts_with('#') {
                header.declare(line, &mut lines, std::mem::take(&mut comment));
            }
        }
        header
    }

    /// Reads a declaration up to its semicolon.
    fn declare<'a>(&mut self, first: &'a str, lines: &mut impl Iterator<Item = &'a str>, comment: Vec<String>) {
        let (mut code, mut depth, mut values, mut inner) = (Vec::new(), 0i64, Vec::new(), Vec::new());
        let mut next = Some(first);
        while let Some(line) = next {
            let trimmed = line.trim();
            if trimmed.starts_with("/*") {
                inner = read_comment(trimmed, lines);
            } else {
                let value = trimmed.trim_end_matches(',');
                if depth == 1 && !value.starts_with('}') {
                    let name = value.split([' ', '=']).next().unwrap_or(value);
                    let comment = std::mem::take(&mut inner);
                    values.push(Declaration { name: name.into(), code: value.into(), comment });
                }
                code.push(line.trim_end());
                depth += trimmed.matches('{').count() as i64 - trimmed.matches('}').count() as i64;
                if depth <= 0 && trimmed.ends_with(';') {
                    break;
                }
            }
            next = lines.next();
        }
        let code = code.join("\n").trim_end_matches(';').to_string();
        let before = |at: usize| code[..at].rsplit([' ', '*', '\n']).next().unwrap_or_default().to_string();
        let is_struct = code.starts_with("struct ") && code.contains('{');
        if let Some(rest) = code.strip_prefix("enum ") {
            let name = rest.split([' ', '{']).next().unwrap_or_default().to_string();
            self.enums.push((Declaration { name, code, comment }, values));
        } else if let Some(parenthesis) = code.find('(').filter(|_| !code.starts_with("typedef") && !is_struct) {
            self.functions.push(Declaration { name: before(parenthesis), code, comment });
        } else {
            let name = match code.strip_prefix("struct ") {
                Some(rest) => rest.split([' ', '{']).next().unwrap_or_default().to_string(),
                None => before(code.len()),
            };
            let members = values.iter().filter(|_| is_struct).filter(|v| !v.comment.is_empty());
            let of_members = members.map(|v| format!("`{}`: {}", member(&v.code), v.comment.join(" ")));
            let comment = comment.into_iter().chain(of_members).collect();
            self.types.push(Declaration { name, code, comment });
        }
    }
}

/// The name of a struct's member, by its first line.
fn member(code: &str) -> &str {
    let function = code.split_once("(*").and_then(|(_, rest)| rest.split_once(')'));
    function.map_or_else(|| code.trim_end_matches(';').rsplit([' ', '*']).next().unwrap_or(code), |(name, _)| name)
}

/// Reads the rest of a comment that starts in `first`, in paragraphs.
fn read_comment<'a>(first: &str, lines: &mut impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut text = vec![first.trim_start_matches("/*").to_string()];
    if !first.ends_with("*/") {
        for line in lines {
            text.push(line.to_string());
            if line.trim_end().ends_with("*/") {
                break;
            }
        }
    }
    let mut paragraphs = vec![String::new()];
    for line in &text {
        let line = line.trim().trim_end_matches("*/").trim_start_matches("* ").trim();
        let line = if line == "*" { "" } else { line };
        match paragraphs.last_mut() {
            // A line that ends the paragraph before it, or begins one.
            Some(last) if line.is_empty() || line.starts_with("- ") || line.ends_with("Requirements:") => {
                if last.is_empty() {
                    *last = line.into();
                } else {
                    paragraphs.push(line.into());
                }
            }
            Some(last) if last.is_empty() => *last = line.into(),
            Some(last) => {
                last.push(' ');
                last.push_str(line);
            }
            None => {}
        }
    }
    paragraphs.retain(|p| !p.is_empty());
    paragraphs
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
/* A header. */
#ifndef X_H
#define X_H

#include <mpi.h>

/*
 How it went.
 */
enum x_status {
  /*
   Well.
   */
  X_STATUS_SUCCESS = 0,
  X_STATUS_LOST = 1,
};

/*
 A handle.
 */
typedef uint64_t x_request;

typedef struct x_opaque x_opaque;

/*
 What does it.
 */
struct x_table {
  /*
   Its name.
   */
  const char *name;
  /*
   Does it.
   */
  int (*work)(void *context,
              int number);
};

/*
 How many.
 */
#define X_MANY 3

#ifdef __cplusplus
extern \"C\" {
#endif // __cplusplus

/*
 Starts it,
 at once.

 Returns 0.

 Requirements:
 `argc` must be valid.
 */
int x_init(int *argc,
           char ***argv);

const char *x_name(void);

#ifdef __cplusplus
}  // extern \"C\"
#endif  // __cplusplus
#endif
";

    #[test]
    fn declarations_have_their_comments() {
        let header = Header::parse(TEXT);
        let names = |list: &[Declaration]| list.iter().map(|d| d.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&header.functions), ["x_init", "x_name"]);
        assert_eq!(names(&header.types), ["x_request", "x_opaque", "x_table", "X_MANY"]);
        assert_eq!(header.types[2].comment, ["What does it.", "`name`: Its name.", "`work`: Does it."]);
        let init = &header.functions[0];
        assert_eq!(init.comment, ["Starts it, at once.", "Returns 0.", "Requirements: `argc` must be valid."]);
        assert_eq!(init.code, "int x_init(int *argc,\n           char ***argv)");
        assert!(header.functions[1].comment.is_empty());
        let (status, values) = &header.enums[0];
        assert_eq!(
            (status.name.as_str(), status.comment.as_slice()),
            ("x_status", ["How it went.".to_string()].as_slice())
        );
        assert_eq!(names(values), ["X_STATUS_SUCCESS", "X_STATUS_LOST"]);
        assert_eq!((values[0].comment.as_slice(), values[1].comment.len()), (["Well.".to_string()].as_slice(), 0));
    }

    #[test]
    fn a_header_that_is_cut_off_is_read_as_far_as_it_goes() {
        for end in 0..TEXT.len() {
            Header::parse(&TEXT[..end]);
        }
    }
}
