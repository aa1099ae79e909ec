//! Writes numbers, sizes, durations and names for people, and words for a shell.

use std::{fmt::Write as _, time::Duration};

use instep_destination::Coverage;
use resourcesync::Capability;
use serde_json::{Value, json};

/// Writes a number as `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Writes a number with its noun: `1 file`, `2 files`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let plural = match (number, noun.strip_suffix('y')) {
        (1, _) => return format!("1 {noun}"),
        (_, Some(stem)) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{noun}s"),
    };
    format!("{} {plural}", count(number))
}

/// Writes a number of bytes as `12 B` or `3.4 MiB`.
pub(crate) fn bytes(number: u64) -> String {
    let mut value = number as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "B" { format!("{number} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

/// Writes a duration as `84 ms`, `3.2 s`, `4 min 10 s` or `2 h 5 min`.
pub(crate) fn elapsed(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let parts = |large: u64, unit: &str, small: u64, part: &str| match small {
        0 => format!("{large} {unit}"),
        small => format!("{large} {unit} {small} {part}"),
    };
    match seconds {
        0 => format!("{} ms", duration.as_millis()),
        1..60 => format!("{:.1} s", duration.as_secs_f64()),
        60..3_600 => parts(seconds / 60, "min", seconds % 60, "s"),
        3_600..86_400 => parts(seconds / 3_600, "h", seconds / 60 % 60, "min"),
        _ => parts(seconds / 86_400, "d", seconds / 3_600 % 24, "h"),
    }
}

/// Returns coverage as JSON: how much of the Source's state is known, and for which time.
pub(crate) fn coverage(coverage: Coverage) -> Value {
    match coverage {
        Coverage::Complete { at } => json!({ "known": "complete", "at": at.map(|at| at.to_string()) }),
        Coverage::ChangesKnown { since } => json!({ "known": "changes", "since": since.to_string() }),
        _ => json!({ "known": "unknown" }),
    }
}

/// Returns the name of a capability as the standard writes it.
pub(crate) fn capability_name(capability: &Capability) -> String {
    match capability {
        Capability::Description => "Source Description",
        Capability::CapabilityList => "Capability List",
        Capability::ResourceList => "Resource List",
        Capability::ResourceDump => "Resource Dump",
        Capability::ChangeList => "Change List",
        Capability::ChangeDump => "Change Dump",
        Capability::ResourceDumpManifest => "Resource Dump Manifest",
        Capability::ChangeDumpManifest => "Change Dump Manifest",
        Capability::ResourceListArchive => "Resource List Archive",
        Capability::ResourceDumpArchive => "Resource Dump Archive",
        Capability::ChangeListArchive => "Change List Archive",
        Capability::ChangeDumpArchive => "Change Dump Archive",
        Capability::ChangeNotification => "Change Notification",
        Capability::FrameworkNotification => "Framework Notification",
        other => return name(other.as_str()),
    }
    .to_owned()
}

/// Returns the noun for the entries of a document.
pub(crate) fn entry_noun(capability: &Capability) -> &'static str {
    match capability {
        Capability::ResourceDump | Capability::ChangeDump => "package",
        Capability::ChangeList | Capability::ChangeDumpManifest => "change",
        Capability::ResourceList | Capability::ResourceDumpManifest => "resource",
        _ => "document",
    }
}

/// Returns a word for a shell, in quotes and without line breaks. With control characters the quotes are `$'...'`,
/// which bash and zsh know.
pub(crate) fn shell_word(word: &str) -> String {
    if !word.contains(char::is_control) {
        return format!("'{}'", word.replace('\'', "'\\''"));
    }
    let mut quoted = "$'".to_owned();
    for character in word.chars() {
        match character {
            '\n' => quoted.push_str("\\n"),
            '\'' | '\\' => quoted.extend(['\\', character]),
            _ if character.is_control() => {
                let mut bytes = [0; 4];
                for byte in character.encode_utf8(&mut bytes).bytes() {
                    let _ = write!(quoted, "\\{byte:03o}");
                }
            }
            _ => quoted.push(character),
        }
    }
    quoted + "'"
}

/// Returns a word for a command that people read and paste: in quotes only if it needs them.
pub(crate) fn shell_argument(word: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "-._~/:@%+=,".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { shell_word(word) }
}

/// Returns a name from the network in a form that cannot steer a terminal: control characters and direction marks are
/// escaped (D10).
pub(crate) fn name(text: &str) -> String {
    escaped(text, &[])
}

/// Returns a text of several lines in a form that cannot steer a terminal, as [`name`] does for one line.
pub(crate) fn lines(text: &str) -> String {
    escaped(text, &['\n', '\t'])
}

/// Returns a text of JSON in which control characters and direction marks are escaped as JSON writes them. They are only
/// in its strings, whose values stay the same (D10).
pub(crate) fn json_text(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for character in json.chars() {
        // JSON itself demands escapes only for the control characters before the blank.
        if turns(character) || matches!(character, '\u{7f}'..='\u{9f}') {
            let _ = write!(safe, "\\u{:04x}", u32::from(character));
        } else {
            safe.push(character);
        }
    }
    safe
}

/// Escapes control characters and direction marks, except those in `kept`.
fn escaped(text: &str, kept: &[char]) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if (character.is_control() && !kept.contains(&character)) || turns(character) {
            let _ = write!(safe, "\\u{{{:x}}}", u32::from(character));
        } else {
            safe.push(character);
        }
    }
    safe
}

/// Returns `true` for a mark that changes the direction of text.
fn turns(character: char) -> bool {
    matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{bytes, count, counted, elapsed, lines, name};

    #[test]
    fn figures_are_written_with_separators_units_and_plurals() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(counted(1, "entry"), "1 entry");
        assert_eq!(counted(2_000, "entry"), "2,000 entries");
        assert_eq!(bytes(1_023), "1023 B");
        assert_eq!(bytes(3 << 20), "3.0 MiB");
        assert_eq!(elapsed(Duration::from_millis(84)), "84 ms");
        assert_eq!(elapsed(Duration::from_secs(250)), "4 min 10 s");
    }

    #[test]
    fn d10_a_name_cannot_steer_the_terminal() {
        assert_eq!(name("a\u{1b}]0;x\u{7}b\u{202e}c"), "a\\u{1b}]0;x\\u{7}b\\u{202e}c");
    }

    #[test]
    fn o871_the_arabic_mark_of_direction_is_escaped_like_the_others() {
        assert_eq!(name("a\u{61c}b\nc"), "a\\u{61c}b\\u{a}c");
        assert_eq!(lines("a\n\tb\u{61c}\u{9b}c"), "a\n\tb\\u{61c}\\u{9b}c");
    }
}
