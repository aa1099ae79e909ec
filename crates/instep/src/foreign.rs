//! Warns about resources on other hosts than that of their Source, when they are published. Copies fetch such resources
//! only if the operator allows the host.

use url::{Origin, Url};

use crate::ui::{LineLevel, Output, format::counted};

/// The resources on other hosts among those that were seen: their number and the first one.
pub(crate) struct ForeignResources {
    base_url: String,
    own: Option<Origin>,
    first: Option<String>,
    count: u64,
}

impl ForeignResources {
    /// Begins without resources. `base_url` is that of the Source.
    pub(crate) fn of(base_url: &str) -> Self {
        Self { base_url: base_url.to_owned(), own: origin(base_url), first: None, count: 0 }
    }

    /// Counts a resource of the Source if it is on another host.
    pub(crate) fn see(&mut self, uri: &str) {
        if origin(uri) != self.own {
            self.count += 1;
            self.first.get_or_insert_with(|| uri.to_owned());
        }
    }

    /// Prints a warning if there are such resources. Returns `true` if there are.
    pub(crate) fn warn(&self, output: &Output) -> bool {
        let Some(first) = &self.first else { return false };
        let more = match self.count - 1 {
            0 => "is".to_owned(),
            others => format!("and {} are", counted(others, "other")),
        };
        output.log(
            LineLevel::Warn,
            &format!(
                "warning: {first} {more} on another host than the Source, {}: copies leave out what is there unless they allow \
                 the host with --allow-origin",
                self.base_url
            ),
        );
        true
    }
}

fn origin(text: &str) -> Option<Origin> {
    Some(Url::parse(text).ok()?.origin())
}
