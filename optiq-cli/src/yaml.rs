//! YAML 1.2 in block style, from JSON documents.
//!
//! A mapping has a line `key: value` for each entry, a sequence a line `- value`; what is inside is indented by two spaces. Scalars are those of
//! JSON, every one of which is one of YAML's core schema (YAML 1.2.2, section 10.2), and strings are double-quoted as in JSON, whose
//! escapes YAML has as well (section 5.7): so no name is taken for a number or a truth value. Empty collections are written `[]` and `{}`.

use serde_json::Value;

/// A document, with its beginning marked.
pub fn document(value: &Value) -> String {
    let mut text = String::from("---\n");
    match value {
        Value::Object(_) | Value::Array(_) => block(value, 0, &mut text),
        scalar => text.push_str(&format!("{scalar}\n")),
    }
    text
}

/// A collection at an indentation, each entry on a line of its own. The line's beginning is written already where the collection is the value of
/// a sequence.
fn block(value: &Value, indent: usize, text: &mut String) {
    let start = |text: &mut String| {
        if text.ends_with('\n') {
            text.push_str(&" ".repeat(indent));
        }
    };
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                start(text);
                text.push_str(&format!("{}:", Value::from(key.as_str())));
                nested(value, indent, text);
            }
        }
        Value::Array(all) if !all.is_empty() => {
            for value in all {
                start(text);
                text.push_str("- ");
                block(value, indent + 2, text);
            }
        }
        scalar_or_empty => text.push_str(&format!("{scalar_or_empty}\n")),
    }
}

/// The value of a key: behind it, or below it and indented.
fn nested(value: &Value, indent: usize, text: &mut String) {
    let is_block = match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(all) => !all.is_empty(),
        _ => false,
    };
    if is_block {
        text.push('\n');
        block(value, indent + 2, text);
    } else {
        text.push_str(&format!(" {value}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_document_is_laid_out_in_blocks() {
        let value = json!({
            "a": 1, "links": [{"from": "h0", "bytes": 2.5}, {"from": "no", "to": []}], "none": null, "rows": [[1, 2], []],
            "what \"it\"\n": {"deep": {"x": true}}
        });
        // Written by hand; maps are sorted by key.
        let expected = "---\n\"a\": 1\n\"links\":\n  - \"bytes\": 2.5\n    \"from\": \"h0\"\n  - \"from\": \"no\"\n    \"to\": []\n\"none\": null\n\
                        \"rows\":\n  - - 1\n    - 2\n  - []\n\"what \\\"it\\\"\\n\":\n  \"deep\":\n    \"x\": true\n";
        assert_eq!(document(&value), expected);
        assert_eq!(document(&json!("x")), "---\n\"x\"\n");
        assert_eq!(document(&json!([])), "---\n[]\n");
    }
}
