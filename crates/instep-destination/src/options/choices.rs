//! Options that are one of a few values, with the names they are written by.

use std::str::FromStr;

/// The digests that are verified, among those that the Source offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verify {
    /// The strongest.
    #[default]
    Strongest,
    /// Each that is known here.
    All,
}

/// The capability of the Source that provides the resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Via {
    /// The cheapest, by estimate.
    #[default]
    Cheapest,
    /// The Resource List, resource by resource.
    List,
    /// The Resource Dump.
    Dump,
    /// Batches of resources, as instep's own Source offers them.
    Batch,
    /// Change Lists only; a gap is an error.
    Changes,
}

/// The weight of an entry's `lastmod` if no digest shows that a resource changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LastmodTrust {
    /// The same time means the same bytes, and another one a change.
    #[default]
    Trust,
    /// None, for sites that write the time of the list: a conditional request is sent.
    Ask,
}

/// The durability of a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// Each group is synced together.
    #[default]
    Group,
    /// Each file is synced separately.
    File,
    /// The operating system decides when.
    None,
}

/// Reads a named value of the command line and the configuration file.
macro_rules! named_values {
    ($type:ident { $($name:literal => $value:ident),+ $(,)? }) => {
        impl $type {
            /// The names it is written by.
            pub const NAMES: &'static [&'static str] = &[$($name),+];
        }

        impl FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($name => Ok(Self::$value),)+
                    _ => Err(format!("One of {}", Self::NAMES.join(", "))),
                }
            }
        }
    };
}

named_values!(Verify { "strongest" => Strongest, "all" => All });
named_values!(Via { "auto" => Cheapest, "list" => List, "dump" => Dump, "batch" => Batch, "changes" => Changes });
named_values!(LastmodTrust { "trust" => Trust, "ask" => Ask });
named_values!(Durability { "group" => Group, "file" => File, "none" => None });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_by_name() {
        assert_eq!("dump".parse(), Ok(Via::Dump));
        assert_eq!("never".parse::<Durability>(), Err("One of group, file, none".to_owned()));
    }
}
