//! The template of a self-contained page, and words in markup.

use crate::colours;

/// The style sheet of the page of simulated runs.
pub const REPORT_STYLE: &str = include_str!("report.css");
/// The body of the page of simulated runs.
pub const REPORT_BODY: &str = include_str!("report.html");

/// What draws a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// Its script, which says in `data-drawn` that it has.
    ByScript,
    /// It is drawn already.
    Already,
}

/// A page that needs nothing else: the head that all pages share, with a title (in markup) and a style sheet of its own
/// behind the common one, and a template's body.
pub fn page(title: &str, drawn: Drawn, style: &str, body: &str, parts: &[(&str, &str)]) -> String {
    let drawn = if drawn == Drawn::Already { " data-drawn=\"true\"" } else { "" };
    let head = [
        ("{{drawn}}", drawn),
        ("{{title}}", title),
        ("{{colours}}", &colours::named()),
        ("{{style}}", include_str!("page.css")),
        ("{{own}}", style),
    ];
    fill(include_str!("head.html"), &head) + &fill(body, parts)
}

/// Replaces each placeholder, in the order of the template; what is filled in is not looked at again.
fn fill(template: &str, parts: &[(&str, &str)]) -> String {
    let mut page = String::with_capacity(template.len() + parts.iter().map(|(_, text)| text.len()).sum::<usize>());
    let mut rest = template;
    for (placeholder, text) in parts {
        if let Some((before, after)) = rest.split_once(placeholder) {
            page.push_str(before);
            page.push_str(text);
            rest = after;
        }
    }
    page + rest
}

/// Text as it stands in markup.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_is_not_filled_again() {
        assert_eq!(fill("a {{x}} b {{y}} c", &[("{{x}}", "{{y}}"), ("{{y}}", "2")]), "a {{y}} b 2 c");
    }

    #[test]
    fn a_page_has_the_common_head_and_its_own_style_last() {
        let page = page("{{own}}", Drawn::Already, ".x { top: 0; }\n", "<body>{{y}}</body>", &[("{{y}}", "{{style}}")]);
        assert!(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\" data-drawn=\"true\">\n"), "{page}");
        assert!(page.contains("<title>{{own}}</title>") && page.ends_with("<body>{{style}}</body>"), "{page}");
        let at = |part: &str| page.find(part).unwrap();
        assert!(at("--ink:#1b1f24;") < at("color: var(--ink)") && at("@media print") < at(".x { top: 0; }"));
    }

    #[test]
    fn markup_in_names_stays_text() {
        assert_eq!(escape("<b a=\"&\">"), "&lt;b a=&quot;&amp;&quot;&gt;");
    }
}
