//! What was measured, as a JSON document and as a table.

use optiq_lower::machine::Samples;
use optiq_lower::model::Parameter;
use optiq_studies::bench::calibration::measure::Calibration;
use optiq_view::table;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Serialize)]
pub struct CalibrationDocument<'a> {
    file: String,
    command: &'a str,
    measured_at_utc: &'a str,
    optiq_version: &'a str,
    mpi_library: &'a str,
    ranks: u32,
    hosts: u32,
    topology: &'a str,
    network_fingerprint: String,
    transport: &'a str,
    cases: &'a str,
    /// By name; those in `_seconds` are seconds, those in `_efficiency` parts of the link bound.
    parameters: BTreeMap<&'static str, MeasuredParameter>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct MeasuredParameter {
    /// As it is written: the median, or 1 if a part of the link bound was above it.
    value: f64,
    samples: u64,
    first_quartile: f64,
    median: f64,
    third_quartile: f64,
}

impl<'a> CalibrationDocument<'a> {
    pub fn new(calibration: &'a Calibration, file: &Path) -> Self {
        let m = &calibration.measurement;
        let parameter = |(parameter, samples): (Parameter, &Option<Samples>)| {
            let Samples { count, first_quartile, median, third_quartile } = (*samples)?;
            let value = calibration.model.get(parameter);
            let found = MeasuredParameter { value, samples: count, first_quartile, median, third_quartile };
            Some((parameter.name(), found))
        };
        CalibrationDocument {
            file: file.display().to_string(),
            command: &m.command,
            measured_at_utc: &m.at,
            optiq_version: &m.version,
            mpi_library: &m.mpi_library,
            ranks: m.ranks,
            hosts: m.hosts,
            topology: &m.topology,
            network_fingerprint: m.network.to_string(),
            transport: &m.transport,
            cases: &m.cases,
            parameters: Parameter::ALL.into_iter().zip(&m.samples).filter_map(parameter).collect(),
            notes: &calibration.notes,
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        let head = ["parameter", "value", "first quartile", "median", "third quartile", "samples"].map(String::from);
        let mut rows = vec![head.to_vec()];
        for parameter in Parameter::ALL {
            let Some(p) = self.parameters.get(parameter.name()) else { continue };
            let shown = |value: f64| match parameter.is_link_efficiency() {
                true => format!("{value:.3}"),
                false => table::seconds(value),
            };
            let values = [p.value, p.first_quartile, p.median, p.third_quartile].map(shown);
            let cells = [parameter.name().to_owned()].into_iter().chain(values).chain([p.samples.to_string()]);
            rows.push(cells.collect());
        }
        let notes: String = self.notes.iter().map(|note| format!("{note}\n")).collect();
        format!(
            "{}, {} on {}, {}\n{}\n\n{}\n{notes}written to {}; OPTIQ_CALIBRATION={} uses it\n",
            self.topology,
            table::count(self.ranks as usize, "rank"),
            table::count(self.hosts as usize, "host"),
            self.transport,
            self.cases,
            table::table(&rows),
            self.file,
            self.file
        )
    }
}
