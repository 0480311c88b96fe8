//! Reading the text form of GOAL.
//!
//! The grammar is that of LogGOPSim's `txt2bin`, with more freedom in where lines end and in the order of `tag`, `cpu` and
//! `nic`, and with more checks: labels that are given twice, unknown ranks and dependencies in a cycle are told
//! with their lines.
//!
//! ```text
//! schedule   = "num_ranks" number  { "rank" number "{" { statement } "}" }
//! statement  = [ label ":" ] operation | label ( "requires" | "irequires" ) label
//! operation  = "send" number "b" "to" number { option } | "recv" number "b" "from" ( number | "-1" ) { option }
//!            | "calc" number { "cpu" number | "nic" number }
//! option     = "tag" ( number | "-1" ) | "cpu" number | "nic" number
//! ```

use super::schedule::{
    Edge, Goal, MAX_DEPENDENCIES, MAX_FILE_BYTES, MAX_OPERATIONS, MAX_RANKS, Operation, OperationKind, Rank,
};
use crate::error::SimError;
use optiq_net::text_file::shorten;
use std::collections::BTreeMap;
use std::path::Path;

/// Where something is wrong, and the rest of the sentence.
#[derive(Debug)]
struct ParseError {
    line: u32,
    what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'t> {
    Word(&'t str),
    /// Digits.
    Number(&'t str),
    /// -1.
    Any,
    /// `{`, `}` or `:`.
    Sign(char),
    /// The end of a line, or a semicolon.
    Break(bool),
    /// What is none of these.
    Unknown(char),
    End,
}

impl Token<'_> {
    fn found(self) -> String {
        match self {
            Token::Word(text) | Token::Number(text) => format!("\"{}\"", shorten(text)),
            Token::Any => "\"-1\"".into(),
            Token::Sign(sign) => format!("\"{sign}\""),
            Token::Unknown(sign) => format!("{sign:?}"),
            Token::Break(true) => "the end of the line".into(),
            Token::Break(false) => "\";\"".into(),
            Token::End => "the end of the text".into(),
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// The line of what comes next.
    line: u32,
    /// The next token, if it was looked at, and where the text continues behind it.
    peeked: Option<(Token<'t>, usize, u32)>,
}

/// Words that are no labels.
const KEYWORDS: &[&str] = &["num_ranks", "rank", "send", "recv", "calc"];

impl<'t> Reader<'t> {
    fn wrong<T>(&self, what: String) -> Result<T, ParseError> {
        Err(ParseError { line: self.line, what })
    }

    fn expected<T>(&mut self, what: &str) -> Result<T, ParseError> {
        let found = self.peek()?.found();
        self.wrong(format!("found {found}; {what} is expected"))
    }

    /// Skips blanks and comments.
    fn skip(&mut self) -> Result<(), ParseError> {
        loop {
            let rest = &self.text[self.at..];
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
            self.at += blank;
            let rest = &rest[blank..];
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let Some(end) = comment.find("*/") else {
                    return self.wrong("found a comment without an end; \"*/\" is expected".into());
                };
                self.line += comment[..end].matches('\n').count() as u32;
                self.at += end + 4;
            } else {
                return Ok(());
            }
        }
    }

    fn peek(&mut self) -> Result<Token<'t>, ParseError> {
        if let Some((token, ..)) = self.peeked {
            return Ok(token);
        }
        self.skip()?;
        let rest = &self.text[self.at..];
        let length_of = |is: fn(char) -> bool| rest.find(|c| !is(c)).unwrap_or(rest.len());
        let (token, length) = match rest.chars().next() {
            None => (Token::End, 0),
            Some('\n') => (Token::Break(true), 1),
            Some(';') => (Token::Break(false), 1),
            Some(sign @ ('{' | '}' | ':')) => (Token::Sign(sign), 1),
            Some(c) if c.is_ascii_digit() => {
                let length = length_of(|c| c.is_ascii_digit());
                (Token::Number(&rest[..length]), length)
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let length = length_of(|c| c.is_ascii_alphanumeric() || c == '_');
                (Token::Word(&rest[..length]), length)
            }
            Some('-') if rest[1..].starts_with('1') && !rest[2..].starts_with(|c: char| c.is_ascii_digit()) => {
                (Token::Any, 2)
            }
            Some(c) => (Token::Unknown(c), c.len_utf8()),
        };
        let line = self.line + u32::from(token == Token::Break(true));
        self.peeked = Some((token, self.at + length, line));
        Ok(token)
    }

    /// Goes past what was looked at.
    fn next(&mut self) {
        if let Some((_, at, line)) = self.peeked.take() {
            (self.at, self.line) = (at, line);
        }
    }

    fn skip_breaks(&mut self) -> Result<(), ParseError> {
        while matches!(self.peek()?, Token::Break(_)) {
            self.next();
        }
        Ok(())
    }

    /// A number up to `most`.
    fn number(&mut self, what: &str, most: u64) -> Result<u64, ParseError> {
        let Token::Number(digits) = self.peek()? else { return self.expected(what) };
        match digits.parse() {
            Ok(number) if number <= most => {
                self.next();
                Ok(number)
            }
            _ => self.wrong(format!("found {}; {what} of at most {most} is expected", shorten(digits))),
        }
    }

    fn word(&mut self, word: &str) -> Result<(), ParseError> {
        if self.peek()? != Token::Word(word) {
            return self.expected(&format!("\"{word}\""));
        }
        self.next();
        Ok(())
    }

    fn rank(&mut self, ranks: u32) -> Result<u32, ParseError> {
        // Of one that has too many digits the digits are told.
        let Token::Number(digits) = self.peek()? else { return self.expected("the number of a rank") };
        match digits.parse() {
            Ok(rank) if rank < ranks => {
                self.next();
                Ok(rank)
            }
            _ => self.wrong(format!("found rank {}; one below {ranks} is expected", shorten(digits))),
        }
    }

    fn label(&mut self) -> Result<&'t str, ParseError> {
        match self.peek()? {
            Token::Word(label) if !KEYWORDS.contains(&label) => {
                self.next();
                Ok(label)
            }
            _ => self.expected("the label of an operation"),
        }
    }

    /// `send`, `recv` or `calc`, which was looked at.
    fn operation(&mut self, word: &str, ranks: u32) -> Result<Operation, ParseError> {
        let line = self.line;
        self.next();
        let mut kind = match word {
            "calc" => OperationKind::Calc { nanoseconds: self.number("a number of nanoseconds", u64::MAX / 1000)? },
            _ => {
                let bytes = self.number("a number of bytes", u64::MAX >> 1)?;
                self.word("b")?;
                if word == "send" {
                    self.word("to")?;
                    OperationKind::Send { to: self.rank(ranks)?, bytes, tag: 0 }
                } else {
                    self.word("from")?;
                    let any = self.peek()? == Token::Any;
                    if any {
                        self.next();
                    }
                    let from = if any { None } else { Some(self.rank(ranks)?) };
                    OperationKind::Recv { from, bytes, tag: Some(0) }
                }
            }
        };
        let (mut cpu, mut nic, mut has_tag) = (None, None, false);
        loop {
            match self.peek()? {
                Token::Word("tag") if !has_tag && !matches!(kind, OperationKind::Calc { .. }) => {
                    self.next();
                    has_tag = true;
                    let any = self.peek()? == Token::Any;
                    match &mut kind {
                        OperationKind::Recv { tag, .. } if any => {
                            self.next();
                            *tag = None;
                        }
                        OperationKind::Recv { tag, .. } => {
                            *tag = Some(self.number("a tag", u64::from(u32::MAX - 1))? as u32)
                        }
                        OperationKind::Send { tag, .. } => *tag = self.number("a tag", u64::from(u32::MAX - 1))? as u32,
                        OperationKind::Calc { .. } => {}
                    }
                }
                Token::Word("cpu") if cpu.is_none() => {
                    self.next();
                    cpu = Some(self.number("the number of a cpu", 255)? as u8);
                }
                Token::Word("nic") if nic.is_none() => {
                    self.next();
                    nic = Some(self.number("the number of a nic", 255)? as u8);
                }
                Token::Break(_) | Token::Sign('}') | Token::End => break,
                _ => return self.expected("\"tag\", \"cpu\" or \"nic\", each at most once, or the end of the line"),
            }
        }
        Ok(Operation { kind, cpu: cpu.unwrap_or(0), nic: nic.unwrap_or(0), line })
    }
}

/// What is left of the limits.
struct Budget {
    operations: usize,
    dependencies: usize,
}

/// A dependency by its labels: which waits, on which, only for its start, and where that is said.
type LabelledEdge<'t> = (&'t str, &'t str, bool, u32);

/// The statements of a rank, up to the brace.
fn statements(reader: &mut Reader<'_>, rank: u32, ranks: u32, budget: &mut Budget) -> Result<Rank, ParseError> {
    let mut operations = Vec::new();
    let mut labels: BTreeMap<&str, u32> = BTreeMap::new();
    let mut named: Vec<LabelledEdge<'_>> = Vec::new();
    loop {
        reader.skip_breaks()?;
        let mut label = None;
        match reader.peek()? {
            Token::Sign('}') => break,
            Token::Word("send" | "recv" | "calc") => {}
            Token::Word(word) if !KEYWORDS.contains(&word) => {
                reader.next();
                let line = reader.line;
                match reader.peek()? {
                    Token::Sign(':') => reader.next(),
                    Token::Word(how @ ("requires" | "irequires")) => {
                        reader.next();
                        let on = reader.label()?;
                        if budget.dependencies == 0 {
                            return reader.wrong(format!(
                                "found more than {MAX_DEPENDENCIES} dependencies, the most that is supported"
                            ));
                        }
                        budget.dependencies -= 1;
                        named.push((word, on, how == "irequires", line));
                        end_of_statement(reader)?;
                        continue;
                    }
                    _ => return reader.expected("\":\", \"requires\" or \"irequires\" after a label"),
                }
                label = Some(word);
            }
            _ => return reader.expected("\"send\", \"recv\", \"calc\", a label or \"}\""),
        }
        let Token::Word(word @ ("send" | "recv" | "calc")) = reader.peek()? else {
            return reader.expected("\"send\", \"recv\" or \"calc\"");
        };
        if budget.operations == 0 {
            return reader.wrong(format!("found more than {MAX_OPERATIONS} operations, the most that is supported"));
        }
        budget.operations -= 1;
        let number = operations.len() as u32;
        if let Some(label) = label
            && let Some(other) = labels.insert(label, number)
        {
            let line = operations.get(other as usize).map_or(0, |o: &Operation| o.line);
            let label = shorten(label);
            return reader
                .wrong(format!("found label \"{label}\", which line {line} has too; another one is expected"));
        }
        operations.push(reader.operation(word, ranks)?);
        end_of_statement(reader)?;
    }
    let find = |label: &str, line: u32| {
        labels.get(label).copied().ok_or_else(|| ParseError {
            line,
            what: format!("found \"{}\"; the label of an operation of rank {rank} is expected", shorten(label)),
        })
    };
    let edges = named.into_iter().map(|(operation, on, is_start, line)| {
        Ok(Edge { on: find(on, line)?, operation: find(operation, line)?, is_start })
    });
    let rank = Rank::new(operations, edges.collect::<Result<_, ParseError>>()?);
    match rank.cycle() {
        None => Ok(rank),
        Some(operation) => Err(ParseError {
            line: rank.operations[operation as usize].line,
            what: "found an operation that waits for itself, by a cycle of dependencies; none is expected".into(),
        }),
    }
}

fn end_of_statement(reader: &mut Reader<'_>) -> Result<(), ParseError> {
    match reader.peek()? {
        Token::Break(_) | Token::Sign('}') => Ok(()),
        _ => reader.expected("the end of the line"),
    }
}

fn parse(text: &str) -> Result<Goal, ParseError> {
    let mut reader = Reader { text, at: 0, line: 1, peeked: None };
    reader.skip_breaks()?;
    reader.word("num_ranks")?;
    let ranks = reader.number("a number of ranks", u64::from(MAX_RANKS))? as u32;
    if ranks == 0 {
        return reader.wrong("found 0 ranks; at least 1 is expected".into());
    }
    let mut list: Vec<Option<Rank>> = vec![None; ranks as usize];
    let mut budget = Budget { operations: MAX_OPERATIONS, dependencies: MAX_DEPENDENCIES };
    loop {
        reader.skip_breaks()?;
        if reader.peek()? == Token::End {
            break;
        }
        reader.word("rank")?;
        let rank = reader.rank(ranks)?;
        if list[rank as usize].is_some() {
            return reader.wrong(format!("found rank {rank} a second time; each rank at most once is expected"));
        }
        reader.skip_breaks()?;
        if reader.peek()? != Token::Sign('{') {
            return reader.expected("\"{\"");
        }
        reader.next();
        list[rank as usize] = Some(statements(&mut reader, rank, ranks, &mut budget)?);
        reader.next();
    }
    let empty = || Rank::new(Vec::new(), Vec::new());
    Ok(Goal::new(list.into_iter().map(|r| r.unwrap_or_else(empty)).collect()))
}

impl Goal {
    /// Reads the text form.
    ///
    /// # Errors
    /// [`SimError::Trace`] with a sentence that names the line, what was found and what is expected.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        parse(text).map_err(|wrong| SimError::Trace(format!("line {}: {}", wrong.line, wrong.what)))
    }

    /// Reads a file of the text form, of at most [`MAX_FILE_BYTES`].
    ///
    /// # Errors
    /// As [`Goal::parse`], with the file's name; what the operating system says of it.
    pub fn read(path: &Path) -> Result<Self, SimError> {
        let name = optiq_files::input::name(path);
        let text = optiq_net::text_file::read(path, MAX_FILE_BYTES)
            .map_err(|why| SimError::Trace(format!("GOAL schedule {name}: {why}")))?;
        parse(&text).map_err(|wrong| SimError::Trace(format!("{name}:{}: {}", wrong.line, wrong.what)))
    }
}
