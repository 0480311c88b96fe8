//! The page of `optiq cures --report`.

use super::found::Found;
use super::text;
use crate::commands::simulate::jobs::report::time_box;
use optiq_view::boxes::Boxes;
use optiq_view::cures::{CuresPage, Table};
use optiq_view::jobs::{ALONE, TOGETHER};

pub fn page(found: &Found<'_>) -> String {
    let boxes = |job: usize| {
        let name = &found.file.jobs[job].name;
        let tried = found.trials.tried.iter().filter_map(|tried| Some((tried, tried.jobs[job].as_ref()?)));
        let each = tried.enumerate().map(|(number, (tried, figures))| {
            // The first one is the jobs as they are.
            let colour = if number == 0 { ALONE } else { TOGETHER };
            time_box(&tried.remedy.action.words(found.file), colour, &figures.together)
        });
        let label = format!("Box plots of the samples of {name} beside the other jobs, with each cure");
        (
            name.clone(),
            Boxes { label, horizontal: "time of an operation beside the others".into(), boxes: each.collect() },
        )
    };
    let limits = found.trials.exchanges.iter().map(|exchange| {
        let (title, rows) = text::limits(found, exchange);
        Table { title, rows }
    });
    CuresPage {
        heading: format!("Cures: {}", found.file.title),
        subtitle: text::subtitle(found),
        notes: text::notes(found),
        figures: text::rows(found),
        boxes: (0..found.file.jobs.len()).map(boxes).collect(),
        limits: limits.collect(),
    }
    .page()
}
