//! What one process says to all others before providers are asked: everything that only it can know.

use super::file_network::FileNetwork;
use super::host_list::{HostList, ListStatement};

/// A process's own part of the surroundings, which travels as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankStatement {
    /// The name of its processor.
    pub processor: String,
    /// `SLURM_TOPOLOGY_ADDR` and `SLURM_TOPOLOGY_ADDR_PATTERN`.
    pub(super) address: Option<(String, String)>,
    /// What the process manager says of the hosts of the job; or what is wrong with it.
    pub(super) list: Option<Result<ListStatement, String>>,
    /// A number for the network in `OPTIQ_TOPOLOGY_FILES`; or what is wrong with it.
    pub(super) files: Option<Result<u64, String>>,
}

/// One line: what ends lines and fields becomes a blank.
fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

impl RankStatement {
    /// That of a process on the processor `processor`. `variable` gives the value of an environment variable; `files` is what the
    /// process read, where `OPTIQ_TOPOLOGY_FILES` is set.
    pub fn new(processor: &str, variable: &dyn Fn(&str) -> Option<String>, files: Option<&FileNetwork>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let address = set("SLURM_TOPOLOGY_ADDR");
        Self {
            processor: line(processor),
            address: address.map(|a| (line(&a), line(&set("SLURM_TOPOLOGY_ADDR_PATTERN").unwrap_or_default()))),
            list: HostList::read(&set).map(|list| list.map(|list| list.statement(processor))),
            files: files.map(FileNetwork::print),
        }
    }

    /// That of a process of which only the processor counts, as the network is named.
    pub fn of_processor(processor: &str) -> Self {
        Self { processor: line(processor), ..Self::default() }
    }

    /// As it travels: the processor, and a line for each further field.
    pub fn text(&self) -> String {
        let mut text = self.processor.clone();
        if let Some((address, pattern)) = &self.address {
            text += &format!("\naddress\t{address}\t{pattern}");
        }
        match &self.list {
            None => {}
            Some(Ok(ListStatement { manager, variable, hosts, print, listed })) => {
                text += &format!("\nlist\t{manager}\t{variable}\t{hosts}\t{print}\t{listed}");
            }
            Some(Err(why)) => text += &format!("\nno-list\t{}", line(why)),
        }
        match &self.files {
            None => {}
            Some(Ok(print)) => text += &format!("\nfiles\t{print}"),
            Some(Err(why)) => text += &format!("\nno-files\t{}", line(why)),
        }
        text
    }

    /// What [`RankStatement::text`] gave, of a process that may have another version: what is not known is left out.
    pub fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let mut statement = Self::of_processor(lines.next().unwrap_or_default());
        for line in lines {
            let fields: Vec<&str> = line.split('\t').collect();
            match fields[..] {
                ["address", address, pattern] => statement.address = Some((address.into(), pattern.into())),
                ["list", manager, variable, hosts, print, listed] => {
                    statement.list = Some(Ok(ListStatement {
                        manager: manager.into(),
                        variable: variable.into(),
                        hosts: hosts.parse().unwrap_or(0),
                        print: print.parse().unwrap_or(0),
                        listed: listed == "true",
                    }));
                }
                ["no-list", why] => statement.list = Some(Err(why.into())),
                ["files", print] => statement.files = print.parse().ok().map(Ok),
                ["no-files", why] => statement.files = Some(Err(why.into())),
                _ => {}
            }
        }
        statement
    }
}
