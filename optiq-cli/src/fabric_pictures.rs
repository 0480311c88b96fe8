//! The files with a picture of a fabric that commands write: `--report` and `--svg`.

use crate::failure::Failure;
use crate::target::Target;
use optiq_net::Network;
use optiq_view::fabric::{FabricLayout, FabricPicture, LinkSeries};
use optiq_view::plan::check_size;
use std::path::Path;

/// Where pictures are to be written.
pub struct FabricPictures {
    report: Option<Target>,
    svg: Option<Target>,
}

impl FabricPictures {
    /// Checks that the files can be written.
    ///
    /// # Errors
    /// As [`Target::new`].
    pub fn new(report: Option<&Path>, svg: Option<&Path>) -> Result<Self, Failure> {
        let [report, svg] = [report, svg].map(|path| path.map(Target::new).transpose());
        Ok(Self { report: report?, svg: svg? })
    }

    /// Whether any is to be written.
    pub fn is_wanted(&self) -> bool {
        self.report.is_some() || self.svg.is_some()
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
        if let Some(target) = &self.svg {
            let svg = picture.svg();
            target.write(|out| out.write_all(svg.as_bytes()))?;
        }
        Ok(())
    }
}
