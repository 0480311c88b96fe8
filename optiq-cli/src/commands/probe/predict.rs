//! `optiq probe predict`.

use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::target::Target;
use clap::Args;
use optiq_probe::ProbeError;
use optiq_probe::measure::calibration::Calibration;
use optiq_probe::predict::accuracy::{Accuracy, PairError};
use optiq_probe::predict::cross_validation::leave_one_out;
use optiq_probe::predict::table::TrainingTable;
use optiq_probe::predict::training::Method;
use optiq_view::slowdowns::{Slowdowns, page};
use optiq_view::table;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Predict by how much applications slow each other on one switch, from a training table without any pair of them
///
/// A prediction stands for each method, and below all of them the mean error in percentage points when each configuration of CompressionB
/// is predicted from the others; that of predicting no slowdown at all is beside them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq probe predict table.toml
  optiq probe predict table.toml FFTW AMG
  optiq probe predict table.toml --html slowdowns.html")]
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
    /// Write a picture of all slowdowns by all methods, one HTML page; - is standard output
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The document. Its keys are a contract with scripts.
#[derive(Serialize)]
struct PredictDocument<'a> {
    title: &'a str,
    calibration: Calibration,
    runs_with_application: usize,
    runs_of_compression: usize,
    applications: Vec<ApplicationDocument<'a>>,
    pairs: Vec<PairDocument<'a>>,
    methods: Vec<MethodDocument>,
    /// Of predicting no slowdown at all.
    no_slowdown: ErrorDocument,
}

#[derive(Serialize)]
struct ApplicationDocument<'a> {
    name: &'a str,
    latency_mean_seconds: f64,
    utilisation_share: f64,
}

/// Slowdowns are 0.5 for one and a half times as long, in the order of the methods.
#[derive(Serialize)]
struct PairDocument<'a> {
    slowed: &'a str,
    beside: &'a str,
    slowdowns: Vec<f64>,
}

#[derive(Serialize)]
struct MethodDocument {
    name: &'static str,
    #[serde(flatten)]
    error: ErrorDocument,
}

/// The error when each configuration is predicted from the others; nothing of a table with one.
#[derive(Serialize, Default)]
struct ErrorDocument {
    mean_error_points: Option<f64>,
    median_error_points: Option<f64>,
    largest_error_points: Option<f64>,
    below_10_points_share: Option<f64>,
}

impl ErrorDocument {
    fn of(errors: &[PairError]) -> Self {
        Accuracy::of(errors).map_or_else(Self::default, |Accuracy { points, share_below_10 }| Self {
            mean_error_points: Some(points.mean),
            median_error_points: Some(points.median),
            largest_error_points: Some(points.maximum),
            below_10_points_share: Some(share_below_10),
        })
    }

    fn text(&self) -> String {
        self.mean_error_points.map_or_else(|| "-".into(), |mean| format!("{mean:.1}"))
    }
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let table = TrainingTable::read(&self.table).map_err(told)?;
        let names = || table.applications.iter().map(|a| a.name.as_str());
        let pairs: Vec<(&str, &str)> = match (&self.victim, &self.aggressor) {
            (Some(victim), Some(aggressor)) => vec![(victim.as_str(), aggressor.as_str())],
            _ => names().flat_map(|victim| names().map(move |aggressor| (victim, aggressor))).collect(),
        };
        let document = PredictDocument::new(&table, &pairs).map_err(told)?;
        if let Some(path) = &self.html {
            let target = Target::new(path)?;
            let all: Vec<(&str, &str)> = names().flat_map(|v| names().map(move |a| (v, a))).collect();
            let html = picture(&table, &PredictDocument::new(&table, &all).map_err(told)?);
            target.write(|out| out.write_all(html.as_bytes()))?;
        }
        match self.json {
            true => output::print_json(Schema::ProbePredict, &document)?,
            false => output::print(&document.text())?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn told(e: ProbeError) -> Failure {
    Failure::Input(e.to_string())
}

impl<'a> PredictDocument<'a> {
    fn new(table: &'a TrainingTable, pairs: &[(&'a str, &'a str)]) -> Result<Self, ProbeError> {
        let predictors = Method::ALL.map(|method| method.train(table));
        let pair = |&(slowed, beside): &(&'a str, &'a str)| {
            let slowdowns = predictors.iter().map(|predictor| predictor.predict(slowed, beside));
            Ok(PairDocument { slowed, beside, slowdowns: slowdowns.collect::<Result<_, ProbeError>>()? })
        };
        let mut methods = Vec::with_capacity(predictors.len());
        let mut no_slowdown = ErrorDocument::default();
        for (method, predictor) in Method::ALL.into_iter().zip(&predictors) {
            let errors = leave_one_out(table, method)?;
            methods.push(MethodDocument { name: predictor.name(), error: ErrorDocument::of(&errors) });
            // The same slowdowns for all methods.
            no_slowdown = ErrorDocument::of(&PairError::of_no_slowdown(&errors));
        }
        let application = |a: &'a optiq_probe::predict::table::Application| ApplicationDocument {
            name: &a.name,
            latency_mean_seconds: a.impact.mean_seconds,
            utilisation_share: table.calibration.utilisation(a.impact.mean_seconds),
        };
        let [runs_with_application, runs_of_compression] = table.runs();
        Ok(Self {
            title: &table.title,
            calibration: table.calibration,
            runs_with_application,
            runs_of_compression,
            applications: table.applications.iter().map(application).collect(),
            pairs: pairs.iter().map(pair).collect::<Result<_, ProbeError>>()?,
            methods,
            no_slowdown,
        })
    }

    /// For people.
    fn text(&self) -> String {
        let mut rows = vec![vec!["slowed".to_owned(), "beside".to_owned()]];
        rows[0].extend(self.methods.iter().map(|method| method.name.to_owned()));
        rows[0].push("none".into());
        for pair in &self.pairs {
            let mut row = vec![pair.slowed.to_owned(), pair.beside.to_owned()];
            row.extend(pair.slowdowns.iter().map(|&slowdown| table::percent(slowdown)));
            row.push(table::percent(0.0));
            rows.push(row);
        }
        let mut row = vec!["error, points".to_owned(), String::new()];
        row.extend(self.methods.iter().map(|method| method.error.text()));
        row.push(self.no_slowdown.text());
        rows.push(row);
        let (runs, of_compression) = (self.runs_with_application, self.runs_of_compression);
        format!("{}: {runs} runs with an application, {of_compression} without\n\n{}", self.title, table::table(&rows))
    }
}

/// A matrix for each method.
fn picture(table: &TrainingTable, document: &PredictDocument<'_>) -> String {
    let names: Vec<String> = table.applications.iter().map(|a| a.name.clone()).collect();
    let matrix = |(at, method): (usize, &MethodDocument)| Slowdowns {
        title: method.name.to_owned(),
        names: names.clone(),
        values: document.pairs.chunks(names.len()).map(|row| row.iter().map(|p| p.slowdowns[at]).collect()).collect(),
    };
    let matrices: Vec<Slowdowns> = document.methods.iter().enumerate().map(matrix).collect();
    let lead = format!("{}: how much slower each application is predicted to be beside each", table.title);
    page("Predicted slowdowns", &lead, &matrices)
}
