//! The documents of a complete Source: its sets, then the documents that lead to them.

use std::collections::BTreeMap;

use super::{
    SourcePolicy, about, capability_list,
    fit::Omissions,
    robots,
    set::SetPublication,
    set_input::SetInput,
    view::{Before, Now, SetView},
    writer::{ReadArchive, RenderedDocuments},
};
use crate::{Error, records::PublishedSource, sink::Sink};

/// Writes the documents that differ from those in place into the sink, which then shows the present state of the
/// sets.
///
/// `views` are the sets of the policy, in its order. `archives` reads the documents of an archive, and is called only
/// if an archive changes. Parts that no document can express are added to `omissions`. Returns the record of the next
/// state; it equals the one in `before` if nothing was written.
///
/// # Errors
/// If the catalogue cannot be read or the sink cannot be written.
pub(crate) fn render(
    policy: &SourcePolicy,
    views: &[&dyn SetView],
    before: &Before,
    now: Now,
    archives: ReadArchive<'_>,
    omissions: &mut Omissions,
    sink: &mut dyn Sink,
) -> Result<PublishedSource, Error> {
    let held = &before.published;
    // Every document has absolute URIs: with another base URL all of them are wrong.
    let version = policy.write.version.to_string().replace('.', "_");
    // A stylesheet is named in every document too.
    let style = if policy.stylesheet.is_some() { " with a stylesheet" } else { "" };
    let written_for = format!("{} V{version}{style}", policy.place.base());
    let repair = before.repair || held.written_for != written_for;
    let mut documents = RenderedDocuments::new(sink, held, archives, omissions, repair);
    let mut sets = BTreeMap::new();
    for (set, view) in policy.sets.iter().zip(views) {
        let held = held.sets.get(&set.name).cloned().unwrap_or_default();
        let staged = before.staged.get(&set.name).cloned().unwrap_or_default();
        let input = SetInput { policy, set, view: *view };
        let publication = SetPublication::new(input, now, &held.archive, &mut documents)?;
        let former = before.former_dumps.get(&set.name);
        sets.insert(set.name.clone(), publication.render(&held, former, staged)?);
    }
    for (name, gone) in held.sets.iter().filter(|(name, _)| !sets.contains_key(*name)) {
        documents.drop_archive(name, &gone.archive)?;
    }
    about::render(policy, &mut documents)?;
    capability_list::render_source_description(policy, &mut documents)?;
    robots::render(policy, before.operators_robots.as_deref(), &mut documents)?;
    Ok(PublishedSource { written_for, sets, gzip_twins: policy.gzip_twins, ..documents.finish(now.at)? })
}
