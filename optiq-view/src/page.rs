//! The template of all pages. A page needs nothing from elsewhere: no style sheet, no script, no font.

use crate::colours;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;

/// What draws a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// Its script, which says in `data-drawn` that it has.
    ByScript,
    /// It is drawn already.
    Already,
}

/// A page with a title, a style sheet of its own behind the common one, and what stands in its body.
pub fn page(title: &str, drawn: Drawn, style: &str, body: Markup) -> String {
    let drawn = (drawn == Drawn::Already).then_some("true");
    let style = [&colours::named(), include_str!("page.css"), style].concat();
    html! {
        (DOCTYPE)
        html lang="en" data-drawn=[drawn] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { "\n" (PreEscaped(style)) }
            }
            body { (body) }
        }
    }
    .into_string()
        + "\n"
}

/// A block of data, which scripts and other tools can read.
///
/// # Errors
/// If the data cannot be serialised, which only a number that is not finite could bring about.
pub fn data(data: &impl Serialize) -> serde_json::Result<Markup> {
    // In a script block only "</" and "<!--" are special; escaping "<" leaves neither.
    let text = serde_json::to_string(data)?.replace('<', "\\u003c");
    Ok(html! { script type="application/json" id="data" { (PreEscaped(text)) } })
}

/// What goes wrong in a drawing script stands in the page, where the tests look for it.
const CATCH_ERRORS: &str = r#"
window.addEventListener("error", (e) => {
  document.documentElement.dataset.errors = `${document.documentElement.dataset.errors || ""}${e.message}; `;
});
"#;

/// The end of the body of a page that is drawn by scripts: its [`data()`], and the scripts behind what they share (`script.js`), in the
/// order in which they are given.
pub fn drawing(data: &Markup, scripts: &[&str]) -> Markup {
    let shared = ["\n\"use strict\";\n(() => {\n", &colours::scale_for_scripts(), include_str!("script.js")].concat();
    let drawing = [&shared, &scripts.concat(), "})();\n"].concat();
    html! {
        noscript {
            p { "This page draws itself with a script; its numbers are in the block \"data\" of its source." }
        }
        div #tip role="status" aria-live="polite" hidden {}
        svg #seed width="0" height="0" aria-hidden="true" {}
        script { (PreEscaped(CATCH_ERRORS)) }
        (data)
        script { (PreEscaped(drawing)) }
    }
}

/// A headline number with what it is, and more about it.
pub fn card(number: &str, what: &str, more: Option<&str>) -> Markup {
    html! {
        div.card {
            b { (number) }
            div.what { (what) }
            @if let Some(more) = more { div.more { (more) } }
        }
    }
}

/// The top of a page: what it is of, on what and how, and what is missing in it.
pub fn header(heading: &str, subtitle: &str, notes: &[String]) -> Markup {
    html! {
        header {
            h1 { (heading) }
            p #subtitle { (subtitle) }
            @for note in notes { p.note.partial { (note) } }
        }
    }
}

/// Text as it stands in markup.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_the_common_head_and_its_own_style_last() {
        let page = page("a < {b}", Drawn::Already, ".x { top: 0; }\n", html! { p { "{{y}}" } });
        assert!(page.starts_with("<!DOCTYPE html><html lang=\"en\" data-drawn=\"true\"><head>"), "{page}");
        assert!(page.contains("<title>a &lt; {b}</title>") && page.ends_with("<body><p>{{y}}</p></body></html>\n"));
        let at = |part: &str| page.find(part).unwrap();
        assert!(at("--ink:#1b1f24;") < at("color: var(--ink)") && at("@media print") < at(".x { top: 0; }"));
    }

    #[test]
    fn data_cannot_end_its_block() {
        let block = data(&"</script><!-- ").unwrap().into_string();
        assert_eq!(block, "<script type=\"application/json\" id=\"data\">\"\\u003c/script>\\u003c!-- \"</script>");
    }

    #[test]
    fn markup_in_names_stays_text() {
        assert_eq!(escape("<b a=\"&\">"), "&lt;b a=&quot;&amp;&quot;&gt;");
    }
}
