//! Every value is read from the text that it writes.

use std::{fmt::Display, str::FromStr};

use proptest::prelude::*;
use resourcesync::{
    Algorithm, Capability, Change, ChangeFreq, DateTime, Digest, Digests, MediaType, PackagePath, Relation,
    SpecVersion, Uri,
};

/// Returns `true` if the text is no value, or its value writes a text that reads as the same value.
fn comes_back<V: FromStr + Display + PartialEq>(text: &str) -> bool {
    text.parse::<V>().map_or(true, |value| value.to_string().parse::<V>().is_ok_and(|again| again == value))
}

proptest! {
    #[test]
    fn a_value_is_read_from_what_it_writes(text in "[ -~]{0,24}|md5:[0-9a-fA-F]{32}|[a-z]{1,9}/[a-z+.-]{1,9}|20[0-9]{2}-0[1-9]|https?://[a-z./?#:]{1,12}") {
        prop_assert!(comes_back::<Algorithm>(&text) && comes_back::<Capability>(&text));
        prop_assert!(comes_back::<Change>(&text) && comes_back::<ChangeFreq>(&text));
        prop_assert!(comes_back::<DateTime>(&text) && comes_back::<Digest>(&text));
        prop_assert!(comes_back::<Digests>(&text) && comes_back::<MediaType>(&text));
        prop_assert!(comes_back::<PackagePath>(&text) && comes_back::<Relation>(&text));
        prop_assert!(comes_back::<SpecVersion>(&text) && comes_back::<Uri>(&text));
    }
}

#[test]
fn values_of_closed_lists_refuse_other_texts() {
    assert!("daily".parse::<ChangeFreq>().is_ok() && "Daily".parse::<ChangeFreq>().is_err());
    assert!("1.1".parse::<SpecVersion>().is_ok() && "1.2".parse::<SpecVersion>().is_err());
    assert!("text/html; charset=utf-8".parse::<MediaType>().is_ok() && "html".parse::<MediaType>().is_err());
    assert!("/a/b".parse::<PackagePath>().is_ok() && "/../b".parse::<PackagePath>().is_err());
    assert!("md5:00".parse::<Digest>().is_err() && "crc32:00".parse::<Digest>().is_err());
    let error = "html".parse::<MediaType>().map_err(|error| error.to_string());
    assert_eq!(error, Err("\"html\" is not a media type of the form type/subtype".to_owned()));
}
