//! Files that instep writes for its neighbours, read by programs that share no code with it; and theirs, read by instep.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

#[path = "neighbours/applications.rs"]
mod applications;
#[path = "neighbours/archives.rs"]
mod archives;
#[path = "neighbours/bags.rs"]
mod bags;
#[path = "neighbours/damage.rs"]
mod damage;
#[path = "neighbours/iiif.rs"]
mod iiif;
#[path = "neighbours/sitemap.rs"]
mod sitemap;
#[path = "neighbours/warc.rs"]
mod warc;
#[path = "neighbours/webhooks.rs"]
mod webhooks;
