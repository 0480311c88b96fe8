//! Tables in Markdown, made and read: the simulator's benches print them, documents keep their cells.

use serde::{Deserialize, Serialize};

/// A table of text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextTable {
    /// Headings of the columns.
    pub head: Vec<String>,
    /// Whether each column holds words, which are aligned left.
    pub words: Vec<bool>,
    /// A cell for each column.
    pub rows: Vec<Vec<String>>,
}

/// What stands between empty lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkdownBlock {
    /// A heading or a paragraph.
    Text(String),
    /// A table.
    Table(TextTable),
}

impl TextTable {
    /// An empty table; a heading that ends with `<` is of a column of words.
    pub fn new(head: &[&str]) -> Self {
        let words = head.iter().map(|h| h.ends_with('<')).collect();
        let head = head.iter().map(|h| h.trim_end_matches('<').to_owned()).collect();
        TextTable { head, words, rows: Vec::new() }
    }

    /// The table in Markdown; `|` in cells is escaped.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|c| c.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule: Vec<String> = self.words.iter().map(|&w| if w { "---" } else { "---:" }.to_owned()).collect();
        let rows = self.rows.iter().map(|row| line(row));
        [line(&self.head), line(&rule)].into_iter().chain(rows).collect()
    }

    fn parse(block: &str) -> Option<Self> {
        let cells = |line: &str| -> Option<Vec<String>> {
            let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
            Some(inner.split('|').map(|cell| cell.trim().to_owned()).collect())
        };
        let mut lines = block.lines();
        let head = cells(lines.next()?)?;
        let rule = cells(lines.next()?)?;
        let is_rule = |cell: &String| cell.contains("---") && cell.chars().all(|c| "-:".contains(c));
        if rule.len() != head.len() || !rule.iter().all(is_rule) {
            return None;
        }
        let rows: Option<Vec<Vec<String>>> = lines.map(|line| cells(line).filter(|c| c.len() == head.len())).collect();
        Some(TextTable { words: rule.iter().map(|cell| !cell.ends_with(':')).collect(), head, rows: rows? })
    }
}

/// Takes text apart.
pub fn parse(text: &str) -> Vec<MarkdownBlock> {
    let blocks = text.split("\n\n").map(str::trim).filter(|block| !block.is_empty());
    blocks
        .map(|block| match TextTable::parse(block) {
            Some(table) => MarkdownBlock::Table(table),
            None => MarkdownBlock::Text(block.to_owned()),
        })
        .collect()
}

/// Puts it together again.
pub fn render(blocks: &[MarkdownBlock]) -> String {
    let texts: Vec<String> = blocks
        .iter()
        .map(|block| match block {
            MarkdownBlock::Text(text) => format!("{text}\n"),
            MarkdownBlock::Table(table) => table.markdown(),
        })
        .collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_again() {
        let text = "## A heading\n\nWords.\nMore words.\n\n| load |  | ours |\n| ---: | --- | ---: |\n| 0.1 | latency | 32 |\n";
        let blocks = parse(text);
        assert_eq!(blocks.len(), 3);
        assert!(matches!(&blocks[2], MarkdownBlock::Table(t) if t.words == [false, true, false] && t.rows.len() == 1));
        assert_eq!(render(&blocks), text);
    }

    #[test]
    fn what_is_no_table_is_text() {
        for text in ["| a |", "| a |\n| b |", "| a |\n| --- |\n| 1 | 2 |", "a | b\n--- | ---"] {
            assert!(matches!(&parse(text)[..], [MarkdownBlock::Text(_)]), "{text}");
        }
    }

    #[test]
    fn bars_in_cells_are_escaped() {
        let mut table = TextTable::new(&["name<", "n"]);
        table.rows.push(vec!["a|b".into(), "1".into()]);
        assert_eq!(table.markdown(), "| name | n |\n| --- | ---: |\n| a\\|b | 1 |\n");
    }
}
