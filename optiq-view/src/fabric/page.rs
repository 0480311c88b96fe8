//! The page of a fabric: one file with a canvas, which needs nothing from elsewhere.

use super::data::FabricPicture;
use crate::page::{self, Drawn};
use maud::html;
use std::io;

impl FabricPicture<'_> {
    /// The page.
    ///
    /// # Errors
    /// If the data cannot be serialised, which only a number that is not finite could bring about.
    pub fn page(&self) -> io::Result<String> {
        let data = page::data(&self.data())?;
        let reading = "Each half of a link has the colour of what is sent at its end. Drag or use the arrow keys to move, the wheel, + \
                       and - to zoom, 0 to see everything; point at a link or a switch for its numbers, click to mark it. Seen from \
                       afar, the links of a switch to its hosts are one wide line in the colour of the busiest.";
        let links = if self.series.is_empty() { "The fabric" } else { "What the links carry" };
        let body = html! {
            main {
                (page::header(self.title, &self.subtitle, self.notes))
                section aria-labelledby="picture-heading" {
                    h2 #picture-heading { (links) }
                    div #controls {}
                    div.legend #legend {}
                    div.panels #pictures {}
                    p.note { (reading) }
                }
                @if !self.series.is_empty() {
                    section aria-labelledby="busiest-heading" {
                        h2 #busiest-heading { "Busiest ends of links" }
                        div.panels #busiest {}
                    }
                }
                footer {
                    "Topology " (self.net.spec()) ", network fingerprint " (self.net.fingerprint().to_string()) ", drawn as " (self.layout.words)
                    "; made by optiq " (env!("CARGO_PKG_VERSION")) ". The numbers are in this page's block \"data\" as JSON."
                }
            }
            (page::drawing(&data, &[include_str!("fabric.js"), include_str!("controls.js")]))
        };
        Ok(page::page(&format!("OPTIQ fabric: {}", self.title), Drawn::ByScript, include_str!("fabric.css"), body))
    }
}
