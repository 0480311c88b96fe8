//! The values of a page's picture, as a document keeps them. `optiq-view` draws them.

use optiq_view::chart::{Chart, ChartKind, Panel, Series};
use serde::{Deserialize, Serialize};

/// How values are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlotKind {
    /// Bars side by side, for categories without an order of their own.
    Bars,
    /// Points joined by lines, for categories that are amounts.
    Lines,
}

/// The values of one name, one for each category; `None` leaves a gap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlotSeries {
    /// What the values are of.
    pub name: String,
    /// One for each category.
    pub values: Vec<Option<f64>>,
}

/// One of the charts side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlotPanel {
    /// What stands above it; may be empty.
    pub title: String,
    /// What it shows.
    pub series: Vec<PlotSeries>,
}

/// A line or a group of bars for each name, in panels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plot {
    /// A sentence, which also stands in for the picture where there is none.
    pub title: String,
    kind: PlotKind,
    vertical: String,
    horizontal: String,
    categories: Vec<String>,
    panels: Vec<PlotPanel>,
}

impl Plot {
    /// An empty picture.
    pub fn new(kind: PlotKind, title: &str, vertical: &str, horizontal: &str, categories: Vec<String>) -> Self {
        let (title, vertical, horizontal) = (title.into(), vertical.into(), horizontal.into());
        Plot { title, kind, vertical, horizontal, categories, panels: Vec::new() }
    }

    /// Sets a value; panels and names come into being in the order of their first values.
    pub fn set(&mut self, panel: &str, name: &str, category: usize, value: f64) {
        let panels = &mut self.panels;
        let p = panels.iter().position(|p| p.title == panel).unwrap_or_else(|| {
            panels.push(PlotPanel { title: panel.into(), series: Vec::new() });
            panels.len() - 1
        });
        let series = &mut panels[p].series;
        let s = series.iter().position(|s| s.name == name).unwrap_or_else(|| {
            series.push(PlotSeries { name: name.into(), values: vec![None; self.categories.len()] });
            series.len() - 1
        });
        if let Some(place) = series[s].values.get_mut(category) {
            *place = Some(value);
        }
    }

    /// The picture as an SVG file.
    pub fn svg(&self) -> String {
        let kind = match self.kind {
            PlotKind::Bars => ChartKind::Bars,
            PlotKind::Lines => ChartKind::Lines,
        };
        let series = |s: &PlotSeries| Series { name: s.name.clone(), values: s.values.clone() };
        let panel = |p: &PlotPanel| Panel { title: p.title.clone(), series: p.series.iter().map(series).collect() };
        Chart {
            title: self.title.clone(),
            vertical: self.vertical.clone(),
            horizontal: self.horizontal.clone(),
            kind,
            categories: self.categories.clone(),
            panels: self.panels.iter().map(panel).collect(),
        }
        .svg()
    }
}
