//! Options that are one of a few values, with the names they are written by.

use std::str::FromStr;

/// The digests that are verified, among those that the Source offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verify {
    /// The strongest digest.
    #[default]
    Strongest,
    /// Each digest whose algorithm is implemented.
    All,
}

/// The capability of the Source that provides the resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Via {
    /// The way whose transfers are estimated to be the smallest.
    #[default]
    Cheapest,
    /// The Resource List; each resource is fetched from its own URI.
    List,
    /// The Resource Dump; resources are read from its packages.
    Dump,
    /// Batches of resources, as instep's own Source offers them.
    Batch,
    /// Change Lists only. If they do not reach back to the checkpoint, the run fails.
    Changes,
}

/// The weight of an entry's `lastmod` if no digest shows that a resource changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LastmodTrust {
    /// The same time means the same bytes, and another one a change.
    #[default]
    Trust,
    /// The time is no evidence, for sites that write the time of the list in each entry: a conditional request is sent.
    Ask,
}

/// The durability of a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// The files of a group are synced together before the group is recorded. A power loss costs no recorded file.
    #[default]
    Group,
    /// Each file is synced separately before the group is recorded.
    File,
    /// Nothing is synced: the operating system decides when files reach the disk, and a power loss may cost recorded
    /// ones.
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
                    _ => Err(format!("write one of {}", Self::NAMES.join(", "))),
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
        assert_eq!("never".parse::<Durability>(), Err("write one of group, file, none".to_owned()));
    }
}
