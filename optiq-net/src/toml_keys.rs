//! The first key of a TOML text that its form does not have, found without building anything from the text.
//!
//! A TOML parser makes tables of the whole text before the first of them is looked at, in a hundred times the memory of the text:
//! a file of a million tables that no form has costs gigabytes until it is refused. So keys are compared with the form first, token by
//! token. What is right here is then parsed in full; values, inline tables and everything that is subtle are left to the parser.

use serde::Deserialize;
use serde::de::value::Error as Refusal;
use serde::de::{Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;
use std::ops::Range;
use toml_parser::Source;
use toml_parser::lexer::TokenKind;

/// The names of fields of a form.
pub(crate) type Fields = &'static [&'static str];

/// What is wrong, and where in the text.
#[derive(Debug, PartialEq)]
pub(crate) struct WrongKey {
    pub(crate) span: Range<usize>,
    pub(crate) why: String,
}

/// The fields that a derived form expects.
pub(crate) fn fields_of<'de, T: Deserialize<'de>>() -> Fields {
    let mut fields: Fields = &[];
    // It fails as soon as the form has said what it expects.
    let _ = T::deserialize(Asked(&mut fields));
    fields
}

/// Is asked for a struct, and remembers what it should have.
struct Asked<'a>(&'a mut Fields);

impl<'de> Deserializer<'de> for Asked<'_> {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Refusal> {
        Err(Refusal::custom("only a struct has fields"))
    }

    fn deserialize_struct<V: Visitor<'de>>(self, _: &'static str, fields: Fields, _: V) -> Result<V::Value, Refusal> {
        *self.0 = fields;
        Err(Refusal::custom("only the names of its fields are wanted"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// What the next token may be.
#[derive(Clone, Copy, PartialEq)]
enum At {
    /// The beginning of a line.
    Line,
    /// A key of a header: `[` or `.` came before.
    HeaderKey,
    /// Behind a key of a header.
    Header,
    /// Behind the first key of a line, at this depth of brackets.
    Value(usize),
}

/// The table that lines belong to.
#[derive(Default)]
struct Table {
    path: String,
    /// Whether it is one of a list, and where it begins; and how many keys it has.
    of_list: Option<usize>,
    keys: usize,
}

/// The first key that a table does not have, or the first table of a list without any. `fields` are those of a table by its path,
/// such as `network` or `hosts.aliases`, and of the whole text by the empty one; `None` where any key will do.
pub(crate) fn first_wrong(text: &str, fields: impl Fn(&str) -> Option<Fields>) -> Option<WrongKey> {
    let wrong = |path: &str, key: &str, span: Range<usize>| {
        let fields = fields(path)?;
        let unknown = !key.contains('\\') && !fields.contains(&key);
        unknown.then(|| WrongKey { span, why: Refusal::unknown_field(key, fields).to_string() })
    };
    let mut table = Table::default();
    let mut at = At::Line;
    for token in Source::new(text).lex() {
        let (kind, span) = (token.kind(), token.span().start()..token.span().end());
        at = match (at, kind) {
            (_, TokenKind::Whitespace | TokenKind::Comment) => at,
            (At::Line, TokenKind::LeftSquareBracket) => {
                if let Some(empty) = empty(&table, &fields) {
                    return Some(empty);
                }
                table = Table::default();
                At::HeaderKey
            }
            (At::HeaderKey, TokenKind::LeftSquareBracket) => {
                table.of_list = Some(span.start);
                at
            }
            (At::HeaderKey, _) if is_key(kind) => {
                let key = unquoted(&text[span.clone()]);
                if let Some(wrong) = wrong(&table.path, key, span) {
                    return Some(wrong);
                }
                if !table.path.is_empty() {
                    table.path.push('.');
                }
                table.path.push_str(key);
                At::Header
            }
            (At::Header, TokenKind::Dot) => At::HeaderKey,
            (At::Line, _) if is_key(kind) => {
                table.keys += 1;
                if let Some(wrong) = wrong(&table.path, unquoted(&text[span.clone()]), span) {
                    return Some(wrong);
                }
                At::Value(0)
            }
            (At::Value(depth), TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket) => At::Value(depth + 1),
            (At::Value(depth), TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket) => {
                At::Value(depth.saturating_sub(1))
            }
            (At::Value(depth), TokenKind::Newline) if depth > 0 => at,
            (_, TokenKind::Newline) => At::Line,
            // No key and no header: the parser will say what is wrong with the line.
            (At::Line, _) => At::Value(0),
            _ => at,
        };
    }
    empty(&table, &fields)
}

fn empty(table: &Table, fields: impl Fn(&str) -> Option<Fields>) -> Option<WrongKey> {
    let start = table.of_list.filter(|_| table.keys == 0)?;
    let expected = fields(&table.path)?.iter().map(|f| format!("`{f}`")).collect::<Vec<_>>().join(", ");
    Some(WrongKey { span: start..start, why: format!("an entry without keys; expected some of {expected}") })
}

fn is_key(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Atom | TokenKind::BasicString | TokenKind::LiteralString)
}

fn unquoted(key: &str) -> &str {
    key.trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    #[allow(dead_code, reason = "only the names of fields are looked at")]
    struct Form {
        name: String,
        link: Vec<u32>,
    }

    fn first(text: &str) -> Option<(usize, String)> {
        let fields = |path: &str| match path {
            "" => Some(fields_of::<Form>()),
            "link" => Some(&["from", "to"][..]),
            _ => None,
        };
        first_wrong(text, fields).map(|wrong| (wrong.span.start, wrong.why))
    }

    #[test]
    fn fields_are_those_of_the_form() {
        assert_eq!(fields_of::<Form>(), ["name", "link"]);
        assert!(fields_of::<Vec<u32>>().is_empty());
    }

    #[test]
    fn unknown_keys_are_found_wherever_they_are() {
        let unknown = |key: &str, expected: &str| format!("unknown field `{key}`, expected {expected}");
        let root = |key: &str| unknown(key, "`name` or `link`");
        assert_eq!(first("[x]\n"), Some((1, root("x"))));
        assert_eq!(first("name = 1\n\n[[ \"x\" ]]"), Some((13, root("\"x\"").replace("`\"x\"`", "`x`"))));
        assert_eq!(first("name.y = [\n1, # ]\n2]\nx = 1"), Some((21, root("x"))));
        assert_eq!(first("[[link]]\nfrom = \"[x]\"\nvia = 2"), Some((22, unknown("via", "`from` or `to`"))));
        assert_eq!(first("[link.via]"), Some((6, unknown("via", "`from` or `to`"))));
        assert!(first("[[link]]\n[[link]]\nfrom = 1").is_some_and(|(at, why)| at == 1 && why.contains("without keys")));
        assert!(first("[[link]] # the last one").is_some_and(|(_, why)| why.contains("`from`, `to`")));
    }

    #[test]
    fn what_only_looks_like_a_key_is_left_to_the_parser() {
        for text in [
            "",
            "name = '''\n[x]\ny = 1\n'''\n",
            "name = \"\"\"\n[x]\n\"\"\" # x = 1\n",
            "[[link]]\nfrom = { x = 1 }\nto = [\n  [\"x\"],\n  { y = 2 },\n]\n",
            "[link]\n'from' = 1\n\"\\u0074o\" = 2\n",
            "[name.any]\nthing = 1\n",
            "= 1\n]\n}\n",
        ] {
            assert_eq!(first(text), None, "{text}");
        }
    }
}
