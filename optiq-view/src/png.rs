//! PNG files of pictures: an SVG picture, drawn by `resvg`, with letters from the fonts of the system.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// Pixels for each unit of the picture: 192 in an inch, where browsers have 96 units.
const SCALE: f32 = 2.0;

/// More pixels than any picture of this crate has; 4 B each.
const MOST_PIXELS: f64 = 1e8;

/// The file of an SVG picture, on white paper unless it brings its own.
///
/// # Errors
/// A sentence, if no font is installed for its letters, the picture is too large, or it is no SVG.
pub fn png(svg: &str) -> Result<Vec<u8>, String> {
    let mut options = Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_system_fonts();
    let has_letters = svg.contains("<text");
    if has_letters && fonts.is_empty() {
        return Err("no font is installed, so that a PNG would have no letters; a font such as DejaVu is expected, or an SVG file".into());
    }
    // The families that pages ask for are names for whatever the system has.
    let sans = resvg::usvg::fontdb::Family::SansSerif;
    let query = resvg::usvg::fontdb::Query { families: &[sans], ..Default::default() };
    if fonts.query(&query).is_none() {
        let names = || fonts.faces().filter_map(|face| face.families.first().map(|(name, _)| name.as_str()));
        let sans = names().find(|name| name.contains("Sans") && !name.contains("Mono"));
        let family = sans.or_else(|| names().next()).unwrap_or_default().to_owned();
        fonts.set_sans_serif_family(family);
    }
    let tree = Tree::from_str(svg, &options).map_err(|e| format!("the picture cannot be read as SVG: {e}"))?;
    let size = tree.size();
    let [wide, high] = [size.width(), size.height()].map(|length| (length * SCALE).ceil());
    if f64::from(wide) * f64::from(high) > MOST_PIXELS {
        return Err(format!("the picture has {wide} by {high} pixels; {MOST_PIXELS:e} are expected at most"));
    }
    let mut pixmap = Pixmap::new(wide as u32, high as u32).ok_or("the picture is empty")?;
    pixmap.fill(resvg::tiny_skia::Color::WHITE);
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|e| format!("the PNG cannot be made: {e}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const HEAD: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 40 20\" width=\"40\" height=\"20\">";

    fn pixels(svg: &str) -> Pixmap {
        Pixmap::decode_png(&png(svg).unwrap()).unwrap()
    }

    #[test]
    fn a_picture_has_its_colours_at_twice_its_size() {
        let style = "<style>.a{fill:rgb(68 1 84)} path{fill:none}.h1{stroke:rgb(253 231 37);stroke-width:4}</style>";
        let shapes =
            "<rect class=\"a\" x=\"0\" y=\"0\" width=\"10\" height=\"10\"/><path class=\"h1\" d=\"M20 10L40 10\"/>";
        let found = pixels(&format!("{HEAD}{style}{shapes}</svg>"));
        assert_eq!((found.width(), found.height()), (80, 40));
        let colour = |x, y| {
            let c = found.pixel(x, y).unwrap().demultiply();
            (c.red(), c.green(), c.blue())
        };
        assert_eq!([colour(5, 5), colour(70, 20), colour(30, 35)], [(68, 1, 84), (253, 231, 37), (255, 255, 255)]);
    }

    #[test]
    fn words_have_letters() {
        let words = format!(
            "{HEAD}<style>text{{font:11px system-ui,sans-serif}}</style><text x=\"2\" y=\"15\">leaf</text></svg>"
        );
        match png(&words) {
            Ok(bytes) => {
                let found = Pixmap::decode_png(&bytes).unwrap();
                let dark = found.pixels().iter().filter(|p| p.red() < 100).count();
                assert!(dark > 30, "{dark} dark pixels");
            }
            Err(why) => assert!(why.starts_with("no font is installed"), "{why}"),
        }
    }

    #[test]
    fn what_is_no_picture_is_refused() {
        assert!(png("<svg").unwrap_err().contains("cannot be read as SVG"));
        let large = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"90000\" height=\"90000\"></svg>";
        assert!(png(large).unwrap_err().contains("180000 by 180000 pixels"));
    }
}
