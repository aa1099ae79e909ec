//! The object storage of a copy: a place, and the layout of the objects there.

use std::{fmt, str::FromStr};

use instep_objects::ObjectPlace;

/// Object storage that has the bytes of a copy: `s3://bucket/prefix`, and `?layout=names` for an object per resource.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CopyPlace {
    /// The bucket, and the prefix of all objects of the copy.
    pub place: ObjectPlace,
    /// The layout of the objects.
    pub layout: ObjectLayout,
}

/// The layout of the objects of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectLayout {
    /// Small resources are packed as records of web archives (WARC), many in an object; large ones have an object each.
    #[default]
    Packs,
    /// Each resource is an object under its path, which other programs can read.
    Names,
}

impl CopyPlace {
    /// Returns a place whose objects are packs.
    pub fn new(place: ObjectPlace) -> Self {
        Self { place, layout: ObjectLayout::default() }
    }
}

impl FromStr for CopyPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (url, query) = text.split_once('?').unwrap_or((text, ""));
        let layout = match query {
            "" | "layout=packs" => ObjectLayout::Packs,
            "layout=names" => ObjectLayout::Names,
            _ => return Err(format!("{text:?}: after the question mark write layout=packs or layout=names")),
        };
        let place = ObjectPlace::parse(url).map_err(|error| error.to_string())?;
        Ok(Self { place, layout })
    }
}

impl fmt::Display for CopyPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.layout {
            ObjectLayout::Packs => write!(f, "{}", self.place),
            ObjectLayout::Names => write!(f, "{}?layout=names", self.place),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_written_as_it_is_read() {
        for text in ["s3://library", "s3://library/copies/one", "s3://library/one?layout=names"] {
            assert_eq!(text.parse::<CopyPlace>().unwrap().to_string(), text);
        }
        assert_eq!("s3://l?layout=packs".parse::<CopyPlace>().unwrap().layout, ObjectLayout::Packs);
        for wrong in ["copy", "s3://", "s3://l?layout=tar", "s3://l?x"] {
            assert!(wrong.parse::<CopyPlace>().is_err(), "{wrong}");
        }
    }
}
