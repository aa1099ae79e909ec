//! The version of the standard to write or judge by.

use std::{fmt, str::FromStr};

use crate::value::ValueError;

/// The version of the standard that a document is written for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SpecVersion {
    /// 1.0 (Z39.99-2014): `lastmod` is the time of the change (DIA-8, DIA-9).
    V1_0,
    /// 1.1 (Z39.99-2017).
    #[default]
    V1_1,
}

impl FromStr for SpecVersion {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "1.0" => Ok(Self::V1_0),
            "1.1" => Ok(Self::V1_1),
            _ => Err(ValueError::new(text, "a version of ResourceSync, 1.0 or 1.1")),
        }
    }
}

impl fmt::Display for SpecVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V1_0 => "1.0",
            Self::V1_1 => "1.1",
        })
    }
}
