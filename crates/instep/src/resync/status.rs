//! Reads `.resync-client-status.cfg`, in which the reference client keeps the time of the last change of each Source
//! that it has applied. So a copy that it made is continued.

use std::{fs, path::Path};

use resourcesync::DateTime;

/// The name of the file, in the working folder of the reference client.
pub(super) const STATUS_FILE: &str = ".resync-client-status.cfg";

/// Returns the stored time for a Resource List; `None` if the file has none or cannot be read.
pub(super) fn last_change(folder: &Path, list: &str) -> Option<DateTime> {
    let text = fs::read_to_string(folder.join(STATUS_FILE)).ok()?;
    read(&text, list)
}

/// Reads the section `[incremental]`, which has lines `NAME = SECONDS`. A time is rounded down to its second, because
/// reading a change twice costs little, while a change that is left out is lost.
fn read(text: &str, list: &str) -> Option<DateTime> {
    let name = option_name(list);
    let mut is_incremental = false;
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            is_incremental = section == "incremental";
        } else if let Some((key, value)) = line.split_once(['=', ':'])
            && is_incremental
            && key.trim().to_lowercase() == name
        {
            let seconds: f64 = value.trim().parse().ok()?;
            return seconds.is_finite().then(|| DateTime::from_unix_seconds(seconds.floor() as i64));
        }
    }
    None
}

/// Returns the name of a Resource List in the file: each character other than letters, digits and `_` becomes `_`.
fn option_name(list: &str) -> String {
    let safe = |character: char| {
        if character.is_alphanumeric() || character == '_' { character } else { '_' }
    };
    list.chars().map(safe).collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn the_time_of_a_source_is_read_by_its_resource_list() {
        let text = "[incremental]\nhttp___example_com_resourcelist_xml = 1360681740.75\n\
                    http___other_org_resourcelist_xml = 1.0\n\n[other]\nhttp___last_xml = 5\n";
        let time = |list| read(text, list).map(|time| time.to_string());
        assert_eq!(time("http://Example.com/resourcelist.xml").as_deref(), Some("2013-02-12T15:09:00Z"));
        assert_eq!(time("http://other.org/resourcelist.xml").as_deref(), Some("1970-01-01T00:00:01Z"));
        assert_eq!(time("http://last.xml"), None);
        assert_eq!(time("http://example.com/sitemap.xml"), None);
    }

    #[test]
    fn a_damaged_file_has_no_times() {
        for text in [
            "",
            "[incremental]",
            "http___a = 1",
            "[incremental]\nhttp___a = soon",
            "[incremental]\nhttp___a = inf",
        ] {
            assert_eq!(read(text, "http://a"), None, "{text}");
        }
    }
}
