//! Options that are one of a few values, with the names they are written by.

use std::str::FromStr;

/// The digests that are verified, among those that the Source offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verify {
    /// Only the strongest digest that an entry offers: it proves the bytes alone.
    #[default]
    Strongest,
    /// Each digest that an entry offers and that is known here.
    All,
}

/// The capability of the Source that provides the resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Via {
    /// The capability that is cheapest for the present plan, by an estimate of requests and bytes.
    #[default]
    Cheapest,
    /// The Resource List, with a request for each resource.
    List,
    /// The Resource Dump, whose packages have many resources each.
    Dump,
    /// Batches of resources, as instep's own Source offers them.
    Batch,
    /// Only Change Lists: if changes since the checkpoint are missing, the run fails and reads no inventory.
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
    /// Each group is on disk before it counts as committed, with a few syncs for all its files.
    #[default]
    Group,
    /// Each file is a group of its own: it is on disk before the next one is committed, which takes longer.
    File,
    /// The operating system decides when files reach the disk: a power failure may damage the last ones.
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
