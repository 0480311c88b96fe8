//! `optiq probe predict`.

use crate::failure::Failure;
use crate::output;
use clap::Args;
use optiq_probe::ProbeError;
use optiq_probe::predict::accuracy::Accuracy;
use optiq_probe::predict::cross_validation::leave_one_out;
use optiq_probe::predict::table::TrainingTable;
use optiq_probe::predict::training::Method;
use optiq_view::table;
use std::path::PathBuf;
use std::process::ExitCode;

/// Predict by how much applications slow each other on one switch, from a training table without any pair of them
///
/// A prediction stands for each method, and below all of them the mean error in percentage points when each configuration of CompressionB
/// is predicted from the others.
#[derive(Debug, Args)]
#[command(after_help = super::EXAMPLES)]
pub struct Arguments {
    /// The training table; - is standard input
    #[arg(value_name = "TABLE")]
    table: PathBuf,
    /// The application that is slowed [default: every one]
    #[arg(value_name = "VICTIM", requires = "aggressor")]
    victim: Option<String>,
    /// The application beside it
    #[arg(value_name = "AGGRESSOR")]
    aggressor: Option<String>,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let table = TrainingTable::read(&self.table).map_err(told)?;
        let names = || table.applications.iter().map(|a| a.name.as_str());
        let pairs: Vec<(&str, &str)> = match (&self.victim, &self.aggressor) {
            (Some(victim), Some(aggressor)) => vec![(victim.as_str(), aggressor.as_str())],
            _ => names().flat_map(|victim| names().map(move |aggressor| (victim, aggressor))).collect(),
        };
        output::print(&text(&table, &pairs).map_err(told)?)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn told(e: ProbeError) -> Failure {
    Failure::Input(e.to_string())
}

fn text(table: &TrainingTable, pairs: &[(&str, &str)]) -> Result<String, ProbeError> {
    let predictors = Method::ALL.map(|method| method.train(table));
    let mut rows = vec![vec!["slowed".to_owned(), "beside".to_owned()]];
    rows[0].extend(predictors.iter().map(|predictor| predictor.name().to_owned()));
    for &(victim, aggressor) in pairs {
        let mut row = vec![victim.to_owned(), aggressor.to_owned()];
        for predictor in &predictors {
            row.push(table::percent(predictor.predict(victim, aggressor)?));
        }
        rows.push(row);
    }
    let mut row = vec!["error, points".to_owned(), String::new()];
    for method in Method::ALL {
        let accuracy = Accuracy::of(&leave_one_out(table, method)?);
        row.push(accuracy.map_or_else(|| "-".into(), |accuracy| format!("{:.1}", accuracy.points.mean)));
    }
    rows.push(row);
    let [runs, of_compression] = table.runs();
    Ok(format!("{}: {runs} runs with an application, {of_compression} without\n\n{}", table.title, table::table(&rows)))
}
