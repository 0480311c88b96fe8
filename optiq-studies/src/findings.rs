//! What a claim's run found: a table whose rows carry verdicts, as text, as Markdown and as JSON.

use crate::plot::Plot;
use optiq_view::table;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A column: its heading for people, its key in the JSON document (with the unit in it), and how many decimals people
/// see of a number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// For people.
    pub heading: Cow<'static, str>,
    /// In JSON, with the unit.
    pub key: Cow<'static, str>,
    /// That people see.
    pub decimals: usize,
}

/// Shorthand for a [`Column`].
pub const fn column(heading: &'static str, key: &'static str, decimals: usize) -> Column {
    Column { heading: Cow::Borrowed(heading), key: Cow::Borrowed(key), decimals }
}

/// What stands in a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// Words.
    Text(String),
    /// An amount, in the unit of the column.
    Number(f64),
    /// Nothing was published, or measured.
    Nothing,
}

impl Cell {
    fn text(&self, decimals: usize) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Number(n) => format!("{n:.decimals$}"),
            Cell::Nothing => "-".into(),
        }
    }

    fn json(&self) -> Value {
        match self {
            Cell::Text(text) => text.as_str().into(),
            // A count is one in JSON as well.
            Cell::Number(n) if n.fract() == 0.0 && n.abs() < 1e15 => (*n as i64).into(),
            Cell::Number(n) => (*n).into(),
            Cell::Nothing => Value::Null,
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

impl From<f64> for Cell {
    fn from(n: f64) -> Self {
        Cell::Number(n)
    }
}

impl From<usize> for Cell {
    fn from(n: usize) -> Self {
        Cell::Number(n as f64)
    }
}

impl From<u64> for Cell {
    fn from(n: u64) -> Self {
        Cell::Number(n as f64)
    }
}

impl From<Option<f64>> for Cell {
    fn from(n: Option<f64>) -> Self {
        n.map_or(Cell::Nothing, Cell::Number)
    }
}

/// Whether a published statement was shown again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It was.
    Shown,
    /// Not, and what was seen instead.
    NotShown(String),
    /// There is nothing to judge: the row is context, or the size is not the published one.
    NotJudged,
}

impl Verdict {
    /// Shown if `holds`; if not, `why` says what was seen.
    pub fn of(holds: bool, why: impl FnOnce() -> String) -> Self {
        if holds { Verdict::Shown } else { Verdict::NotShown(why()) }
    }

    /// One for all: not shown if one of them is not, not judged if none says anything.
    pub fn together<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> Verdict {
        let mut judged = 0;
        let mut against = Vec::new();
        for verdict in verdicts {
            judged += usize::from(*verdict != Verdict::NotJudged);
            if let Verdict::NotShown(why) = verdict {
                against.push(why.as_str());
            }
        }
        match (judged, against.first()) {
            (0, _) => Verdict::NotJudged,
            (_, None) => Verdict::Shown,
            (_, Some(first)) if against.len() == 1 => Verdict::NotShown((*first).to_owned()),
            (_, Some(first)) => Verdict::NotShown(format!("{first}, and {} more of {judged} rows", against.len() - 1)),
        }
    }

    /// `shown`, `not shown` or `not judged`.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Shown => "shown",
            Verdict::NotShown(_) => "not shown",
            Verdict::NotJudged => "not judged",
        }
    }

    /// The word, and what was seen instead.
    pub fn sentence(&self) -> String {
        match self {
            Verdict::NotShown(why) => format!("not shown: {why}"),
            other => other.word().to_owned(),
        }
    }

    fn cell(&self) -> String {
        if *self == Verdict::NotJudged { String::new() } else { self.sentence() }
    }
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// One for each column.
    pub cells: Vec<Cell>,
    /// What the row shows.
    pub verdict: Verdict,
}

impl Row {
    /// A row.
    pub fn new(cells: Vec<Cell>, verdict: Verdict) -> Self {
        Row { cells, verdict }
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// What the cells of a row are, from left to right.
    pub columns: Cow<'static, [Column]>,
    /// The table.
    pub rows: Vec<Row>,
    /// Sentences below the table.
    pub notes: Vec<String>,
    /// Figures of the whole for the JSON document, by key (with the unit in it); people find them in the notes.
    pub totals: Vec<(String, Cell)>,
    /// What was seen instead, for all rows together, if the claim is not shown; else the first row's words serve.
    pub seen: Option<String>,
    /// The picture of a page.
    pub plot: Option<Plot>,
}

impl Findings {
    /// A table with sentences below it, and nothing else.
    pub fn new(columns: &'static [Column], rows: Vec<Row>, notes: Vec<String>) -> Self {
        Findings { columns: columns.into(), rows, notes, totals: Vec::new(), seen: None, plot: None }
    }

    /// With a picture.
    pub fn with_plot(self, plot: Plot) -> Self {
        Findings { plot: Some(plot), ..self }
    }

    /// The verdict of all rows together.
    pub fn verdict(&self) -> Verdict {
        match (Verdict::together(self.rows.iter().map(|r| &r.verdict)), &self.seen) {
            (Verdict::NotShown(_), Some(seen)) => Verdict::NotShown(seen.clone()),
            (verdict, _) => verdict,
        }
    }

    /// Headings, then rows, the verdict last; without a column for it if nothing was judged.
    fn cells(&self) -> Vec<Vec<String>> {
        let judged = self.rows.iter().any(|r| r.verdict != Verdict::NotJudged);
        let last = |text: String| judged.then_some(text);
        let head = self.columns.iter().map(|c| c.heading.to_string()).chain(last("verdict".into())).collect();
        let row = |r: &Row| {
            let cells = r.cells.iter().zip(self.columns.iter()).map(|(cell, c)| cell.text(c.decimals));
            cells.chain(last(r.verdict.cell())).collect()
        };
        std::iter::once(head).chain(self.rows.iter().map(row)).collect()
    }

    /// Columns that hold words are aligned left.
    fn words(&self, column: usize) -> bool {
        column >= self.columns.len() || self.rows.iter().any(|r| matches!(r.cells.get(column), Some(Cell::Text(_))))
    }

    /// The table and the notes, for a terminal.
    pub fn text(&self) -> String {
        let mut text = table::aligned(&self.cells(), |column| !self.words(column));
        self.notes.iter().for_each(|note| text.push_str(&format!("{note}\n")));
        text
    }

    /// The table and the notes, for a page.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|c| c.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let cells = self.cells();
        let mut text = String::new();
        for (i, row) in cells.iter().enumerate() {
            text.push_str(&line(row));
            if i == 0 {
                let rule = |c| if self.words(c) { "---".to_owned() } else { "---:".to_owned() };
                text.push_str(&line(&(0..row.len()).map(rule).collect::<Vec<_>>()));
            }
        }
        self.notes.iter().for_each(|note| text.push_str(&format!("\n{note}\n")));
        text
    }

    /// Rows as objects, a key for each column.
    pub fn by_key(&self) -> FindingsByKey {
        let row = |r: &Row| {
            let mut object = Map::new();
            for (cell, c) in r.cells.iter().zip(self.columns.iter()) {
                object.insert(c.key.to_string(), cell.json());
            }
            object.insert("verdict".into(), r.verdict.word().into());
            if let Verdict::NotShown(why) = &r.verdict {
                object.insert("seen".into(), why.as_str().into());
            }
            object
        };
        let verdict = self.verdict();
        let seen = if let Verdict::NotShown(why) = &verdict { Some(why.clone()) } else { None };
        FindingsByKey {
            verdict: verdict.word(),
            seen,
            rows: self.rows.iter().map(row).collect(),
            totals: self.totals.iter().map(|(key, cell)| (key.clone(), cell.json())).collect(),
            notes: self.notes.clone(),
        }
    }
}

/// Findings with a key for each cell, for scripts.
#[derive(Serialize)]
pub struct FindingsByKey {
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<String>,
    rows: Vec<Map<String, Value>>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    totals: Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// Whether a measured amount is no more than a published one of `decimals` decimals, whose further digits were cut: all
/// that would have been printed alike is alike.
pub fn no_more(ours: f64, published: f64, decimals: i32) -> bool {
    let scale = 10f64.powi(decimals);
    // What is a little below a printed number only because it was divided and multiplied again is that number.
    (ours * scale + 1e-6).floor() <= (published * scale).round()
}

/// Whether a measured amount, its further digits cut, is the published one of `decimals` decimals.
pub fn prints_as(ours: f64, published: f64, decimals: i32) -> bool {
    let scale = 10f64.powi(decimals);
    (ours * scale + 1e-6).floor() == (published * scale).round()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] =
        &[column("pattern", "pattern", 0), column("worst link, MB", "megabytes_per_link_max", 2)];

    fn findings(verdicts: &[Verdict]) -> Findings {
        let row = |v: &Verdict| Row::new(vec!["a|b".into(), 134.217_728.into()], v.clone());
        Findings::new(COLUMNS, verdicts.iter().map(row).collect(), vec!["A note.".into()])
    }

    #[test]
    fn published_amounts_are_cut() {
        // 128 MiB is printed as 134.21, although 134.22 is nearer.
        assert!(prints_as(134.217_728, 134.21, 2) && no_more(134.217_728, 134.21, 2));
        assert!(!prints_as(134.220_001, 134.21, 2) && !no_more(134.220_001, 134.21, 2));
        assert!(!prints_as(134.209_999, 134.21, 2) && no_more(134.209_999, 134.21, 2));
        assert!(no_more(17.109_9, 17.10, 2) && !no_more(17.11, 17.10, 2));
        // 16.97 is not a binary fraction: neither side may slip below it.
        assert!(prints_as(16.97, 16.97, 2) && no_more(16.97, 16.97, 2));
    }

    #[test]
    fn verdicts_of_rows_make_one() {
        let no = |why: &str| Verdict::NotShown(why.into());
        assert_eq!(findings(&[Verdict::Shown, Verdict::NotJudged]).verdict(), Verdict::Shown);
        assert_eq!(findings(&[Verdict::NotJudged]).verdict(), Verdict::NotJudged);
        assert_eq!(findings(&[]).verdict(), Verdict::NotJudged);
        assert_eq!(findings(&[Verdict::Shown, no("x")]).verdict(), no("x"));
        assert_eq!(findings(&[no("x"), Verdict::Shown, no("y")]).verdict(), no("x, and 1 more of 3 rows"));
        let seen = |verdict| Findings { seen: Some("all".into()), ..findings(&[verdict]) }.verdict();
        assert_eq!((seen(no("x")), seen(Verdict::Shown)), (no("all"), Verdict::Shown));
        assert_eq!(Verdict::of(false, || "5 > 4".into()).sentence(), "not shown: 5 > 4");
    }

    #[test]
    fn three_forms() {
        let found = findings(&[Verdict::Shown, Verdict::NotShown("w".into())]);
        let markdown = "| pattern | worst link, MB | verdict |\n| --- | ---: | --- |\n| a\\|b | 134.22 | shown |\n\
                        | a\\|b | 134.22 | not shown: w |\n\nA note.\n";
        assert_eq!(found.markdown(), markdown);
        assert!(found.text().starts_with("pattern  worst link, MB  verdict\na|b              134.22  shown\n"));
        let json = serde_json::to_value(found.by_key()).unwrap();
        assert_eq!(json["rows"][0]["megabytes_per_link_max"], 134.217_728);
        assert_eq!((&json["verdict"], &json["rows"][1]["seen"]), (&"not shown".into(), &"w".into()));
        assert!(findings(&[Verdict::NotJudged]).markdown().starts_with("| pattern | worst link, MB |\n"));
    }
}
