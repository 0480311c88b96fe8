//! Networks from files of either kind: a network file, or what the tools of a fabric print, joined if it is several files.
//!
//! Whoever needs numbers of the import, other rules for what a host is, or the network file itself calls
//! [`crate::import::Importer`]; here the defaults of [`ImportOptions`] count.

use crate::error::NetError;
use crate::file_names::named;
use crate::import::{ImportOptions, Importer};
use crate::network::Network;
use optiq_files::input::STANDARD;
use std::path::Path;

impl Network {
    /// The network in the file `text`, or in the files of a fabric that it names (`cables.txt+tables.txt`); one of more than `most`
    /// hosts and switches is not built.
    pub(crate) fn from_files_within(text: &str, most: usize) -> Result<Network, NetError> {
        let paths = named(text);
        let is_network_file = |path: &Path| {
            let extension = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
            extension || path == Path::new(STANDARD)
        };
        if let [path] = &paths[..]
            && is_network_file(path)
        {
            return Network::from_file_within(path, most);
        }
        let mut importer = Importer::new();
        for path in &paths {
            let read = importer.read_file(path);
            // Of no known form: then a single one is a network file, or its error says what is wrong.
            match (read, paths.len()) {
                (Err(_), 1) => return Network::from_file_within(path, most),
                (Err(error), _) => return Err(error),
                (Ok(()), _) => {}
            }
        }
        let fabric = importer.finish(&ImportOptions::default())?;
        let vertices = fabric.hosts + fabric.switches;
        if vertices > most {
            return Err(NetError::TooLarge { spec: format!("file:{text}"), vertices, most });
        }
        fabric.warnings.iter().for_each(|warning| log::warn!("topology file {text}: {warning}"));
        let title = paths.iter().filter_map(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned());
        let toml = fabric.toml(&title.collect::<Vec<_>>().join(", "))?;
        Network::from_toml(&toml, text)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use std::fs;

    #[test]
    fn a_file_may_be_a_network_file_or_a_dump_or_several() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let slurm = write("topology.conf", "SwitchName=s0 Nodes=a[1-2]\nSwitchName=s1 Nodes=a[3-4]\n");
        let more = write("more.conf", "SwitchName=s2 Switches=s[0-1]\n");
        let spec = format!("file:{slurm}+{more}");
        let net = Network::from_spec(&spec).unwrap();
        assert_eq!((net.hosts(), net.vertices(), net.spec()), (4, 7, spec.as_str()));
        assert_eq!(net.absolute_spec(), spec);
        assert!(matches!(Network::from_spec_within(&spec, 6), Err(NetError::TooLarge { vertices: 7, .. })));
        let plain = write("net", "[hosts]\ncount = 2\n[[links]]\nfrom = \"h0\"\nto = \"h1\"\n");
        assert_eq!(Network::from_spec(&plain).unwrap().hosts(), 2);
        // A path may hold the sign.
        let odd = write("a+b.conf", "SwitchName=s0 Nodes=a[1-3]\n");
        assert_eq!(Network::from_spec(&format!("file:{odd}")).unwrap().hosts(), 3);
        let text = write("text", "nothing of a network\n");
        let error = Network::from_spec(&format!("file:{text}")).unwrap_err().to_string();
        assert!(error.starts_with("topology file ") && error.contains("line 1"), "{error}");
        let error = Network::from_spec(&format!("file:{slurm}+{text}")).unwrap_err().to_string();
        assert!(error.starts_with("fabric file ") && error.contains("it begins with"), "{error}");
    }
}
