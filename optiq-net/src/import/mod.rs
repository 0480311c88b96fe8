//! Networks from what the tools of real fabrics print: which cables there are, and the forwarding tables of the
//! switches.
//!
//! Read are `ibnetdiscover` and net files of `ibsim` (`node_blocks`), OpenSM's `opensm-subnet.lst` (`subnet_list`),
//! `opensm-lfts.dump` and what `dump_lfts`, `dump_fts` and `ibroute` print (`unicast_tables`), `opensm.fdbs` (`fdbs`),
//! and Slurm's `topology.conf` and `topology.yaml` (`slurm`, `slurm_yaml`). Files are told apart by what is in them,
//! and joined: one may have the cables and another the tables (`importer`).
//!
//! From bytes to a network: `lines` -> `importer` gives each line to the parser of its section -> `collected`, what all
//! files say -> `fabric`, joined and checked -> `roles`, which adapters are hosts -> `levels` -> `walk`, every pair of
//! hosts along the tables -> `network_file`.
mod collected;
mod fabric;
mod fdbs;
mod importer;
mod levels;
mod lines;
mod network_file;
mod node_blocks;
mod rates;
mod roles;
mod scan;
mod slurm;
mod slurm_yaml;
mod subnet_list;
mod summary;
mod unicast_tables;
mod walk;

pub use importer::Importer;
pub use roles::HostRule;
pub use summary::{ImportOptions, ImportedFabric, Unresolved};
