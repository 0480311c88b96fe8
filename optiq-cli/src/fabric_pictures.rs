//! The files with a picture of a fabric that commands write: `--report`, `--svg` and `--png`.

use crate::failure::Failure;
use crate::target::{Target, check_distinct};
use clap::Args;
use optiq_net::Network;
use optiq_view::fabric::{FabricLayout, FabricPicture, LinkSeries};
use optiq_view::plan::check_size;
use optiq_view::png::png;
use std::path::PathBuf;

/// The arguments that name the files.
#[derive(Debug, Args)]
pub struct PictureFiles {
    /// Write a page with the fabric and what its links carry to this file: to move about in, to search, to filter; - is standard output
    #[arg(long, value_name = "PAGE")]
    report: Option<PathBuf>,
    /// Write the same picture, still, to this file; - is standard output
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// Write the still picture as a PNG of 2,400 pixels across, with letters from the fonts of this machine
    #[arg(long, value_name = "FILE.png")]
    png: Option<PathBuf>,
}

/// Where pictures are to be written.
pub struct FabricPictures {
    report: Option<Target>,
    svg: Option<Target>,
    png: Option<Target>,
}

impl FabricPictures {
    /// Checks that the files can be written.
    ///
    /// # Errors
    /// As [`Target::new`], and for a file that is named twice.
    pub fn new(files: &PictureFiles) -> Result<Self, Failure> {
        check_distinct(&[("--report", &files.report), ("--svg", &files.svg), ("--png", &files.png)])?;
        let target = |path: &Option<PathBuf>| path.as_deref().map(Target::new).transpose();
        Ok(Self { report: target(&files.report)?, svg: target(&files.svg)?, png: target(&files.png)? })
    }

    /// Whether any is to be written.
    pub fn is_wanted(&self) -> bool {
        self.report.is_some() || self.svg.is_some() || self.png.is_some()
    }

    /// Refuses a network that is too large for the pictures that are wanted, before it is laid out.
    ///
    /// # Errors
    /// [`Failure::Input`] that says how large it is and how large it may be.
    pub fn check(&self, net: &Network) -> Result<(), Failure> {
        if self.is_wanted() {
            check_size(net)?;
        }
        Ok(())
    }

    /// Writes them: what stands above and below the title, what links carry, and what is missing.
    ///
    /// # Errors
    /// As [`Target::write`].
    pub fn write(
        &self,
        net: &Network,
        layout: &FabricLayout,
        (title, subtitle): (&str, String),
        series: &[LinkSeries],
        notes: &[String],
    ) -> Result<(), Failure> {
        let picture = FabricPicture { net, layout, title, subtitle, series, notes };
        if let Some(target) = &self.report {
            let page = picture.page().map_err(|e| Failure::Work(format!("cannot make the page: {e}")))?;
            target.write(|out| out.write_all(page.as_bytes()))?;
        }
        if self.svg.is_none() && self.png.is_none() {
            return Ok(());
        }
        let svg = picture.svg();
        if let Some(target) = &self.svg {
            target.write(|out| out.write_all(svg.as_bytes()))?;
        }
        if let Some(target) = &self.png {
            let png = png(&svg).map_err(|why| Failure::Work(format!("--png: {why}")))?;
            target.write(|out| out.write_all(&png))?;
        }
        Ok(())
    }
}
