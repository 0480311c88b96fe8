//! The applications of document 004 as files of steps (`data/jobs/proxies`), by name.

use crate::failure::Failure;
use optiq_sim::jobs::steps_file::StepsFile;

/// An application: its name in document 004, the name of its file, and the text.
#[derive(Clone, Copy, Debug)]
pub struct Proxy {
    /// As Table 1 has it.
    pub name: &'static str,
    /// Of its file.
    pub file: &'static str,
    text: &'static str,
}

macro_rules! proxies {
    ($($name:literal: $file:literal,)*) => {
        /// All, in the order of Table 1.
        pub const PROXIES: &[Proxy] =
            &[$(Proxy { name: $name, file: $file, text: include_str!(concat!("../../data/jobs/proxies/", $file)) },)*];
    };
}

proxies! {
    "FFTW": "fftw.toml",
    "Lulesh": "lulesh.toml",
    "MCB": "mcb.toml",
    "MILC": "milc.toml",
    "VPFFT": "vpfft.toml",
    "AMG": "amg.toml",
}

impl Proxy {
    /// By its name, in any case.
    ///
    /// # Errors
    /// [`Failure::Input`] with the names that there are.
    pub fn named(name: &str) -> Result<&'static Proxy, Failure> {
        PROXIES.iter().find(|proxy| proxy.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
            let names: Vec<&str> = PROXIES.iter().map(|proxy| proxy.name).collect();
            let found: String = name.chars().take(40).collect();
            Failure::Input(format!("\"{found}\" is no proxy; {} are", names.join(", ")))
        })
    }

    /// Its text.
    pub fn text(&self) -> &'static str {
        self.text
    }

    /// Its steps.
    ///
    /// # Errors
    /// [`Failure::Work`] if the file is not of its form, which a test excludes.
    pub fn steps(&self) -> Result<StepsFile, Failure> {
        Ok(StepsFile::parse(self.text, self.file)?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn each_is_found_and_read_and_fits_sixteen_ranks() {
        for proxy in PROXIES {
            let found = Proxy::named(&proxy.name.to_lowercase()).unwrap();
            assert_eq!(found.name, proxy.name);
            let steps = proxy.steps().unwrap();
            assert_eq!(steps.scaled(16, 200.0).unwrap().steps.len(), steps.steps.len());
        }
        assert!(Proxy::named("HPL").unwrap_err().to_string().starts_with("\"HPL\" is no proxy; FFTW, Lulesh"));
    }
}
