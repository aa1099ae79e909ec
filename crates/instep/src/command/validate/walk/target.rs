//! The targets of a walk, each with the document that led to it.

use resourcesync::{
    Capability, Form, Relation, Uri,
    validate::{Child, Report},
};

/// A document or file to check, and the document that led to it.
#[derive(Default)]
pub(super) struct WalkTarget {
    pub(super) uri: Uri,
    /// The document whose entry leads here, with the entry; `None` for a start of the walk or the target of a link.
    pub(super) from: Option<(Uri, Child)>,
    /// The document with a link of its root that leads here, `up` or `archives`.
    pub(super) linked_from: Option<(Uri, Relation)>,
    /// The kind of the document that led here.
    pub(super) parent: Option<(Form, Option<Capability>)>,
}

impl WalkTarget {
    pub(super) fn to(uri: Uri) -> Self {
        Self { uri, ..Self::default() }
    }

    /// Returns `true` if a Capability List or an index names the target as a Change List.
    pub(super) fn is_change_list(&self) -> bool {
        let said = self.from.as_ref().and_then(|(_, child)| child.metadata.capability.as_ref());
        let of_index = matches!(&self.parent, Some((Form::Index, Some(Capability::ChangeList))));
        said == Some(&Capability::ChangeList) || of_index
    }

    /// Returns `true` if a dump led here.
    pub(super) fn is_package(&self) -> bool {
        matches!(&self.parent, Some((Form::List, Some(Capability::ResourceDump | Capability::ChangeDump))))
            && self.from.is_some()
    }
}

/// Returns the documents and packages that a document leads to, downwards and by `up` and `archives`. Channels are left
/// out, and the archive of a member of an index: a closed one never changes, also if there is no archive any more.
pub(super) fn targets(uri: &Uri, report: &Report) -> Vec<WalkTarget> {
    let Some(header) = &report.header else { return Vec::new() };
    let parent = Some((header.form, header.capability().cloned()));
    let is_document = |child: &&Child| {
        child.loc.as_str().starts_with("http")
            && !child.metadata.capability.as_ref().is_some_and(Capability::is_channel)
    };
    let down = report.children.iter().filter(is_document).map(|child| WalkTarget {
        uri: child.loc.clone(),
        from: Some((uri.clone(), child.clone())),
        parent: parent.clone(),
        ..WalkTarget::default()
    });
    let is_member = header.index().is_some();
    let links = [Relation::Up, Relation::Archives].into_iter().filter_map(|rel| {
        let link = header.link_for(&rel).filter(|_| rel == Relation::Up || !is_member)?;
        let (uri, linked_from) = (link.href.clone(), Some((uri.clone(), rel)));
        Some(WalkTarget { uri, linked_from, ..WalkTarget::default() })
    });
    down.chain(links).collect()
}
