//! The document that leads to Change Lists or Change Dumps, and the lists that it names.

use std::collections::BTreeMap;

use resourcesync::{DateTime, Form, Uri};

use crate::{
    Error,
    documents::Document,
    plan::{IndexMember, count_repeated, put_oldest_first},
    read::member_times::{find_beginning, find_times},
    run::SyncRun,
};

/// A Change List or a Change Dump, or the index over several.
#[derive(Debug)]
pub(super) struct ChangeTop {
    /// The URI by which the Source names it.
    pub(super) uri: Uri,
    pub(super) document: Document,
    /// The lists that an index names, oldest first.
    pub(super) members: Vec<IndexMember>,
    /// The number of its members without a usable `loc`, or with that of another one.
    pub(super) unusable: u64,
    /// The time at which the first list begins.
    pub(super) begins: Option<DateTime>,
    /// The lists that were opened for their times.
    pub(super) opened: BTreeMap<Uri, Document>,
    /// `true` if the clock may have gone back since the list that was read last.
    pub(super) is_doubtful: bool,
}

impl ChangeTop {
    /// Finds the lists that a document names, and their times.
    pub(super) async fn find(run: &SyncRun<'_>, uri: Uri, document: Document) -> Result<Self, Error> {
        let (mut members, mut unusable) = (Vec::new(), 0);
        if document.header.form == Form::Index {
            unusable = document.for_each_usable(|entry| members.push(IndexMember::from(entry)))?;
            unusable += count_repeated(&members);
        }
        let opened = find_times(run, &document, &mut members).await?;
        put_oldest_first(&mut members);
        let begins = find_beginning(run, &document)?;
        Ok(Self { uri, document, members, unusable, begins, opened, is_doubtful: false })
    }
}
